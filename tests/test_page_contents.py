"""What belongs on which page, and which file of a figure a page shows."""

import pytest

from fedmix.errors import DataError
from fedmix.views.page.contents import items_named, light_image


def test_a_heavy_vector_figure_gives_way_to_its_picture(tmp_path):
    (tmp_path / "a-h0.5.svg").write_bytes(b"<svg/>")
    (tmp_path / "a-h0.5.png").write_bytes(b"\x89PNG")
    assert light_image(tmp_path / "a-h0.5.svg").suffix == ".svg"
    assert light_image(tmp_path / "a-h0.5.svg", limit=5).suffix == ".png"
    with pytest.raises(DataError, match="no such figure"):
        light_image(tmp_path / "b.svg")


def test_references_to_tables_and_figures_are_understood():
    assert items_named("B.2, Tables 6-8") == {"Table 6", "Table 7", "Table 8"}
    assert items_named("C.1, C.3, Figures 1 and 3 right") == {"Figure 1", "Figure 3"}
    assert items_named("6.2, Figure 1a") == {"Figure 1"}
    assert items_named("Figures 1a and 2b") == {"Figure 1", "Figure 2"}
    assert items_named("Tables 3a-4b, 6") == {"Table 3", "Table 4", "Table 6"}
    assert items_named("Tables 6–7") == {"Table 6", "Table 7"}
    assert items_named("Figures 1, 2, and 3") == {"Figure 1", "Figure 2", "Figure 3"}
    assert items_named("Abstract") == set()
