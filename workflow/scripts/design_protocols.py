"""Draw protocols whatever their results."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.protocols.running import draw_protocols
    from fedmix.storage import write_text

    design = draw_protocols(snakemake.params.space)
    write_text(snakemake.output[0], design.to_csv(index=False))
