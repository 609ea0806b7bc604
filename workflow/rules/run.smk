# All methods of a setting on one block of replications: they share the clients and what they start
# from. A rule for each combination of methods and blocks, for a rule's outputs are fixed. What of a
# block was finished by the same code from the same data, the job takes over: a changed method runs
# alone, and a killed job goes on. Outputs are therefore updated, not deleted beforehand.


for name, kind in RUN_KINDS.items():

    rule:
        name:
            name
        input:
            data=embedded_data,
        output:
            results=update(kind.files(".parquet")),
            timings=update(kind.files(".timings.parquet")),
        log:
            "logs/run_methods/{study}/{setting}/{block}.log",
        benchmark:
            "results/{study}/{setting}/{block}.benchmark.tsv"
        wildcard_constraints:
            study=kind.study,
            setting="|".join(map(re.escape, kind.settings)),
            block="|".join(kind.blocks),
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=more_memory(2000),
            runtime=lambda wildcards, attempt: RUNTIME * attempt,
        params:
            scenario=scenario_parameters,
            shape=embedded_shape,
            methods=methods_parameters,
            progress=PROGRESS,
            experiment=experiment_hash,
            sources=method_hashes,
        script:
            "../scripts/run_methods.py"
