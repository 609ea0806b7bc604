# One method on one setting for one block of replications.

PROGRESS = "results/.progress.jsonl"


onstart:
    jobs = [job for job in workflow.dag.needrun_jobs() if job.rule.name == "run_method"]
    begin(PROGRESS, Counter(job.wildcards.method for job in jobs))



rule run_method:
    input:
        data=embedded_data,
        partition="results/{study}/{setting}/partition/{block}.npz",
        initial="results/{study}/{setting}/initial/{block}.npz",
    output:
        results="results/{study}/{setting}/{method}/{block}.parquet",
        timings="results/{study}/{setting}/{method}/{block}.timings.parquet",
    params:
        cell=cell_parameters,
        method=method_parameters,
        progress=PROGRESS,
        experiment=experiment_hash,
        source=method_hash,
    threads: 1
    resources:
        mem_mb=more_memory(2000),
        runtime=lambda wildcards, attempt: 120 * attempt,
    benchmark:
        "results/{study}/{setting}/{method}/{block}.benchmark.tsv"
    log:
        "logs/run_method/{study}/{setting}/{method}/{block}.log",
    script:
        "../scripts/run_method.py"
