# In place of running: the collected results come from an archive (archive=<file>).


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
    script:
        "../scripts/unpack_archive.py"
