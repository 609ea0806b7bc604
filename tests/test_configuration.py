"""Reading configuration files: what is wrong with one is told with its file and line."""

from typing import Annotated, Literal

import pytest
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fedmix.configuration import raise_all, read_document, read_yaml, validate
from fedmix.declarations import Declared, Named
from fedmix.errors import ConfigurationError


class Part(Declared):
    """A part of a study, by name."""

    name: SkipJsonSchema[str]
    rows: int


class Study(Declared):
    """What a made-up file may say."""

    preset: Literal["quick", "paper"] = "quick"
    block: int = 1
    share: float = Field(0.0, ge=0)
    parts: Annotated[dict[str, Part], Named] = Field({})
    one_or_more: str | Annotated[list[Part], Field(min_length=1)] = ""
    digits: SkipJsonSchema[int] = 2


def write(folder, text, name="study.yaml"):
    path = folder / "config" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_validation_reports_all_errors_with_nearest_names(tmp_path):
    path = write(tmp_path, "preset: quik\nblok: 3\nblock: many\n", "config.yaml")
    with pytest.raises(ConfigurationError) as caught:
        validate(read_document(path), Study)
    message = str(caught.value)
    assert "3 errors" in message
    assert "config/config.yaml:2: blok: unknown key 'blok'. Did you mean 'block'" in message
    assert "config/config.yaml:1: preset: 'quik' is not valid. Did you mean 'quick'" in message
    assert "config/config.yaml:3: block: expected a valid integer, got 'many'" in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("parts: {a: {rows: 1, row: 2}}", "1: parts.a.row: unknown key 'row'. Did you mean 'rows'"),
        ("parts:\n  a: {}", "2: parts.a: missing rows"),
        ("parts:\n  a: 5", "2: parts.a: expected a mapping, got 5"),
        ("parts: {a: {rows: 1, name: b}}", "1: parts: a: unknown key 'name'"),
        ("parts: [a]", r"1: parts: expected a mapping, got \['a'\]"),
        ("one_or_more: []", "1: one_or_more: expected a list to have at least 1 item, got"),
        ("one_or_more: 5", "1: one_or_more: expected a valid string or a valid list, got 5"),
        ("digits: 3", "1: digits: unknown key 'digits'. Valid: block, one_or_more, parts,"),
        ("share: -1", "1: share: expected greater than or equal to 0, got -1"),
        ("- block", "1: top level: expected a mapping, got"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands_and_once(tmp_path, text, says):
    with pytest.raises(ConfigurationError, match=f"1 error:\n  - config/study.yaml:{says}"):
        validate(read_document(write(tmp_path, text)), Study)


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "true", "1e400"])
def test_a_number_is_finite(tmp_path, value):
    with pytest.raises(ConfigurationError, match=r"config/study.yaml:1: share"):
        validate(read_document(write(tmp_path, f"share: {value}\n")), Study)


@pytest.mark.parametrize("value", ["5.0", "true", "'5'", "[5]", "null"])
def test_an_integer_is_written_as_one(tmp_path, value):
    with pytest.raises(ConfigurationError, match="block: expected a valid integer"):
        validate(read_document(write(tmp_path, f"block: {value}\n")), Study)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("block: 1\nblock: 2\n", "key 'block' is given twice, again in line 2"),
        ("a:\n\tb: 1\n", "line 2"),
        ("? [a, b]\n: 1\n", "the key in line 1 is a list or a mapping"),
        ("a: [1\n", "line 2"),
        ("a: *b\n", "line 1"),
    ],
)
def test_what_is_no_plain_yaml_is_told_with_its_line(tmp_path, text, says):
    with pytest.raises(ConfigurationError, match=rf"study.yaml: (.|\n)*{says}"):
        read_yaml(write(tmp_path, text))


def test_a_file_of_other_bytes_or_a_folder_is_named(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match=r"study.yaml"):
        read_yaml(path)
    with pytest.raises(ConfigurationError, match=r"config"):
        read_yaml(path.parent)


def test_a_missing_file_names_its_neighbours(tmp_path):
    write(tmp_path, "", "quick.yaml")
    with pytest.raises(ConfigurationError, match="Did you mean 'quick'"):
        read_yaml(tmp_path / "config" / "quik.yaml")


def test_a_place_is_found_through_anchors_merges_and_another_file(tmp_path):
    text = "a: &base\n  x: 1\nb:\n  <<: *base\n  y: [2,\n      3]\n"
    base = read_document(write(tmp_path, text))
    change = read_document(write(tmp_path, "b:\n\n  y: 5\n", "preset.yaml"))
    whole = base.under(change)
    assert whole.content["b"] == {"x": 1, "y": 5}
    assert str(whole.place("b", "x")) == "config/study.yaml:2: b.x"
    assert str(whole.place("b", "y")) == "config/preset.yaml:3: b.y"
    assert str(base.place("b", "y", 1)) == "config/study.yaml:6: b.y.1"
    assert str(base.part("b").place("y")) == "config/study.yaml:5: b.y"
    assert str(base.place("b", "missing")) == "config/study.yaml:3: b"


def test_no_error_raises_nothing():
    raise_all([])
