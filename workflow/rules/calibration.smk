# Known truths sent through the whole path: the error rates of the verdicts, on a page of the docs.


rule calibrate_verdicts:
    output:
        f"{BASE}/docs/calibration.md",
        f"{BASE}/docs/calibration.svg",
    log:
        "logs/calibrate_verdicts.log",
    conda:
        "../../environment.yml"
    params:
        code=lambda wildcards: code_hash("calibrate_verdicts", "fedmix.cells"),
    script:
        "../scripts/calibrate_verdicts.py"
