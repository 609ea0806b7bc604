"""Tell for every cell of a table where its number comes from."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json

    from fedmix.cells.frame import read_cells
    from fedmix.cells.scorecard import printed_cells
    from fedmix.pipeline.explain import Explainer
    from fedmix.pipeline.request import read_request
    from fedmix.storage import write_text
    from fedmix.views.page.views import anchor

    request = read_request(snakemake.params.config, snakemake.config)
    explainer = Explainer(request)
    cells = printed_cells(read_cells([snakemake.input.cells]))
    run = cells[cells["n"] + cells["failed"] > 0].to_dict("records")
    explanations = {anchor(cell): "\n".join(explainer.lines(cell)) for cell in run}
    write_text(snakemake.output[0], json.dumps(explanations, indent=0))
