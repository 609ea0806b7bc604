"""Collect all cells, and judge all published values, claims and discrepancies with them."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.claims import claims_table, evaluate_claims
    from fedmix.cells.discrepancies import measure_discrepancies, to_markdown
    from fedmix.cells.evidence import read_paths
    from fedmix.cells.frame import complete, read_cells
    from fedmix.cells.items import read_items
    from fedmix.cells.papers import read_claims, read_discrepancies, read_papers
    from fedmix.cells.protocols.kept import read_search
    from fedmix.cells.scorecard import cells_table, rank_agreement, score_tables
    from fedmix.cells.unreported import specification_curves
    from fedmix.storage import concatenate, write_records, write_table, write_text
    from fedmix.views.page.contents import describe_run, write_description

    files = snakemake.input
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    known = read_papers(repository / "config")
    papers = {key: known[key] for key in snakemake.params.papers}
    items = read_items(papers)
    published = repository / "data" / "published"
    read = [
        # Made by this run, or kept in the repository.
        read_search(
            (Path() if folder.startswith("results/") else repository) / folder,
            published=published,
            **declared,
        )
        for folder, declared in snakemake.params.searches.items()
    ]
    searches = [search for search in read if search]
    own = [read_cells(files.cells), *(search.searched_cells() for search in searches)]
    cells = complete(pd.concat(own), items.values(), published)
    claims = read_claims(papers)
    parts = {
        "scores": score_tables(cells, items, papers),
        "ranks": rank_agreement(cells, items),
        "claims": evaluate_claims(claims, cells, read_paths(files.results), searches),
        "discrepancies": measure_discrepancies(read_discrepancies(papers), cells),
    }
    write_table(snakemake.output.frame, cells)
    write_text(snakemake.output.cells, cells_table(cells).to_csv(index=False))
    written = parts | {"claims": claims_table(parts["claims"]).reset_index()}
    for name, part in written.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
    curves = specification_curves(claims, searches)
    write_text(snakemake.output.specification, curves.to_csv(index=False))
    write_description(
        snakemake.output.run, describe_run(snakemake.params.options, concatenate(files.timings))
    )
    write_text(snakemake.output.register, to_markdown(parts["discrepancies"], papers))
    write_records(snakemake.output.whole, parts)
