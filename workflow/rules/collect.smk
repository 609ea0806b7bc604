# Collect the settings of the same tables and figures, and summarize them in cells beside the published
# values. Replications come from blocks and from the evidence.


rule collect_results:
    input:
        results=part_blocks,
        timings=part_timings,
        data=part_data,
    output:
        results=f"{SHOWN}/collected/{{study}}/{{part}}/results.parquet",
        timings=f"{SHOWN}/collected/{{study}}/{{part}}/timings.parquet",
        outcomes=f"{SHOWN}/collected/{{study}}/{{part}}/outcomes.json",
        cells=f"{SHOWN}/collected/{{study}}/{{part}}/cells.parquet",
    log:
        "logs/collect_results/{study}/{part}.log",
    priority: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(2000),
    params:
        settings=part_settings,
        shown=shown_numbers,
        study=study_parameters,
        printed=PRINTED_HASH,
        code=code_hash("collect_results"),
    script:
        "../scripts/collect_results.py"
