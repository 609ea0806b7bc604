# Gather the blocks of a setting.


rule collect_setting:
    input:
        results=setting_files(".parquet"),
        timings=setting_files(".timings.parquet"),
    output:
        results="results/{study}/{setting}/results.parquet",
        timings="results/{study}/{setting}/timings.parquet",
        outcomes="results/{study}/{setting}/outcomes.json",
    log:
        "logs/collect_setting/{study}/{setting}.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/collect_setting.py"
