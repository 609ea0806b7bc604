# Gather the blocks of a setting.


def setting_files(suffix):
    """All blocks of a setting; with partial=true those that are there."""

    def files(wildcards):
        found = block_files(STUDIES[wildcards.study], setting_of(wildcards), suffix)
        return [f for f in found if Path(f).exists()] if config["partial"] else found

    return files


rule collect_setting:
    input:
        results=setting_files(".parquet"),
        timings=setting_files(".timings.parquet"),
    output:
        results="results/{study}/{setting}/results.parquet",
        timings="results/{study}/{setting}/timings.parquet",
    log:
        "logs/collect_setting/{study}/{setting}.log",
    script:
        "../scripts/collect_setting.py"
