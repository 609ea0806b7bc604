# One method on one setting for one block of replications.


rule run_method:
    input:
        data=embedded_data,
        partition="results/{study}/{setting}/partition/{block}.npz",
        initial=initial_values,
    output:
        results="results/{study}/{setting}/{method}/{block}.parquet",
        timings="results/{study}/{setting}/{method}/{block}.timings.parquet",
    log:
        "logs/run_method/{study}/{setting}/{method}/{block}.log",
    benchmark:
        "results/{study}/{setting}/{method}/{block}.benchmark.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=more_memory(2000),
        runtime=lambda wildcards, attempt: 120 * attempt,
    params:
        scenario=scenario_parameters,
        method=method_parameters,
        progress=PROGRESS,
        experiment=experiment_hash,
        source=method_hash,
    script:
        "../scripts/run_method.py"
