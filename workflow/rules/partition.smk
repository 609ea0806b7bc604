# What the methods share: the clients' data and, in experiments that have such, the values that all
# methods start from.


rule partition_clients:
    input:
        data=embedded_data,
    output:
        "results/{study}/{setting}/partition/{block}.npz",
    log:
        "logs/partition_clients/{study}/{setting}/{block}.log",
    conda:
        "../../environment.yml"
    params:
        scenario=scenario_parameters,
        shape=embedded_shape,
        source=experiment_hash,
    script:
        "../scripts/partition_clients.py"


rule compute_initial_values:
    input:
        data=embedded_data,
        partition="results/{study}/{setting}/partition/{block}.npz",
    output:
        "results/{study}/{setting}/initial/{block}.npz",
    log:
        "logs/compute_initial_values/{study}/{setting}/{block}.log",
    conda:
        "../../environment.yml"
    params:
        scenario=scenario_parameters,
        source=experiment_hash,
    script:
        "../scripts/compute_initial_values.py"
