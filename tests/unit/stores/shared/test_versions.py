from dragoman.stores.shared.versions import newer, older


def test_an_older_store_is_told_with_the_command_that_upgrades_it() -> None:
    assert str(older("tasks.db", "sqlite:///tasks.db", 2, 3, verb="checked")) == (
        "tasks.db is of an older version (schema 2, this Dragoman has 3) and cannot be checked "
        "before it is upgraded; run dragoman db upgrade --store sqlite:///tasks.db"
    )


def test_the_command_can_be_pasted_whatever_the_store_is_called() -> None:
    text = str(older("my tasks.db", "sqlite:///my tasks.db", 2, 3))
    assert text.endswith("run dragoman db upgrade --store 'sqlite:///my tasks.db'")


def test_a_newer_store_is_for_a_newer_dragoman() -> None:
    assert str(newer("tasks.db", 4, 3)) == (
        "tasks.db was written by a newer Dragoman (schema 4, this one knows 3) and cannot be used "
        "by this one; upgrade Dragoman or use another --store"
    )
