"""Send known truths through the whole path, and write the page of the calibration."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.calibration import calibrate
    from fedmix.views.calibration import calibration_page

    calibration_page(*calibrate(), *snakemake.output)
