from fedmix.streams import Streams


def test_equal_keys_give_equal_streams():
    first = Streams("study", "setting", 3).generator("data").random(5)
    second = Streams("study", "setting", 3).generator("data").random(5)
    assert first.tolist() == second.tolist()


def test_any_part_of_the_key_changes_the_stream():
    keys = [
        ("a", "b", 0, "data"),
        ("b", "b", 0, "data"),
        ("a", "c", 0, "data"),
        ("a", "b", 1, "data"),
        ("a", "b", 0, "initial values"),
        ("ab", "", 0, "data"),
    ]
    draws = {Streams(s, t, r).integer(p) for s, t, r, p in keys}
    assert len(draws) == len(keys)


def test_streams_are_the_same_on_every_machine():
    assert Streams("study", "setting", 0).integer("data") == 958396225
    assert Streams("study", "setting", 0).generator("data").integers(1000, size=3).tolist() == [
        225,
        531,
        199,
    ]
