# Run all methods of a setting on one block of replications. They share clients and initial values.
#
# Finished replications of the same code and data are reused, also those of the evidence, so that only
# changed methods run again and a killed job continues. Snakemake must therefore keep the block's file: `update`.


rule run_methods:
    input:
        data=lambda wildcards: setting_of(wildcards).embedded or [],
    output:
        results=update("results/{study}/{setting}/{block}.parquet"),
        timings=update("results/{study}/{setting}/{block}.timings.parquet"),
    log:
        "logs/run_methods/{study}/{setting}/{block}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(2000),
        runtime=lambda wildcards, attempt: RUNTIME * attempt,
    params:
        scenario=lambda wildcards: scenario_of(STUDIES[wildcards.study], setting_of(wildcards)),
        shape=embedded_shape,
        methods=methods_parameters,
        experiment=lambda wildcards: experiment_hash(STUDIES[wildcards.study]),
        sources=lambda wildcards: method_hashes(methods_parameters(wildcards)),
        limit=config["replication_timeout"],  # a replication that was stopped earlier runs again
        script=text_hash("run_methods"),
    script:
        "../scripts/run_methods.py"
