"""Explain for every cell of a table where its number comes from."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.cells.verdicts import SEARCHED
    from fedmix.pipeline.explain import Explainer
    from fedmix.pipeline.judged import mark_counted
    from fedmix.pipeline.request import read_request
    from fedmix.storage import read_table, write_text
    from fedmix.views.page.views import anchor

    repository = Path(snakemake.scriptdir).resolve().parents[1]
    explainer = Explainer(read_request(repository / "config", snakemake.config))
    cells = mark_counted(read_table(snakemake.input.cells, filters=[("verdict", "!=", "")]))
    # The protocol of a search is not a setting of a study. The search's findings explain it.
    run = cells[(cells["n"] + cells["failed"] > 0) & (cells["role"] != SEARCHED)]
    explanations = {
        anchor(cell): "\n".join(explainer.lines(cell)) for cell in run.to_dict("records")
    }
    write_text(snakemake.output[0], json.dumps(explanations, indent=0))
