# Targets that only print: snakemake --cores 1 status, snakemake --cores 1 forecast


localrules:
    status,
    forecast,


rule status:
    log:
        "logs/status.log",
    conda:
        "../../environment.yml"
    params:
        options=dict(config),
        workflow=str(BASE),
    script:
        "../scripts/print_report.py"


rule forecast:
    log:
        "logs/forecast.log",
    conda:
        "../../environment.yml"
    params:
        options=dict(config),
        workflow=str(BASE),
    script:
        "../scripts/print_report.py"
