# Tables and figures: layouts of cells.


rule make_table:
    input:
        cells=item_cells,
    output:
        f"{SHOWN}/tables/{{item}}.csv",
        report(
            f"{SHOWN}/tables/{{item}}.md",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        f"{SHOWN}/tables/{{item}}.tex",
        f"{SHOWN}/tables/{{item}}.html",
    log:
        "logs/make_table/{item}.log",
    conda:
        "../../environment.yml"
    params:
        item=item_parameters,
        code=lambda wildcards: code_hash("make_table"),
    script:
        "../scripts/make_table.py"


rule make_figure:
    input:
        cells=shown_cells,
        # Cells have no rounds: figures by round need the results.
        results=trajectories,
    output:
        report(
            f"{SHOWN}/figures/{{item}}.svg",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        f"{SHOWN}/figures/{{item}}.md",
    log:
        "logs/make_figure/{item}.log",
    conda:
        "../../environment.yml"
    params:
        item=item_parameters,
        code=lambda wildcards: code_hash("make_figure"),
    script:
        "../scripts/make_figure.py"


# Pages show the SVG. These take as long again, and are made for a figure that is asked for by name.
use rule make_figure as print_figure with:
    output:
        f"{SHOWN}/figures/{{item}}.pdf",
        f"{SHOWN}/figures/{{item}}.png",
    log:
        "logs/print_figure/{item}.log",
