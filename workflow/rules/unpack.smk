# Instead of running methods, take the collected results from an archive (archive=<file>).


rule unpack_archive:
    input:
        config["archive"],
    output:
        results=all_settings("results"),
        timings=all_settings("timings"),
    log:
        "logs/unpack_archive.log",
    conda:
        "../../environment.yml"
    params:
        replications=replications_by_setting(),
        script=script_hash("unpack_archive"),
    script:
        "../scripts/unpack_archive.py"


rule make_cells:
    input:
        results="results/{study}/{setting}/results.parquet",
        timings="results/{study}/{setting}/timings.parquet",
    output:
        "results/{study}/{setting}/cells.parquet",
    log:
        "logs/make_cells/{study}/{setting}.log",
    conda:
        "../../environment.yml"
    params:
        shown=shown_numbers,
        study=study_parameters,
        printed=PRINTED_HASH,
        source=source_hash("fedmix.cells.frame"),
        script=script_hash("make_cells"),
    script:
        "../scripts/make_cells.py"
