# Collect the blocks of a setting, and summarize them in cells beside the published values.


rule collect_setting:
    input:
        results=setting_files(".parquet"),
        timings=setting_files(".timings.parquet"),
        data=embedded_data,
    output:
        results="results/{study}/{setting}/results.parquet",
        timings="results/{study}/{setting}/timings.parquet",
        outcomes="results/{study}/{setting}/outcomes.json",
        cells="results/{study}/{setting}/cells.parquet",
    log:
        "logs/collect_setting/{study}/{setting}.log",
    conda:
        "../../environment.yml"
    params:
        scenario=scenario_parameters,
        methods=methods_parameters,
        experiment=experiment_hash,
        sources=method_hashes,
        shown=shown_numbers,
        study=study_parameters,
        replications=setting_replications,
        printed=PRINTED_HASH,
        source=source_hash("fedmix.cells.frame"),
        script=script_hash("collect_setting"),
    script:
        "../scripts/collect_setting.py"
