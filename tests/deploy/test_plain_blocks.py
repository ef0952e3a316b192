import pytest

from tests.deploy.plain_blocks import read_documents


def test_blocks_and_flow_collections_are_read() -> None:
    text = """
# A comment
name: web  # another
count: 3
quoted: "3 # no comment"
url: nats://a:1,nats://b:2
"@type": x.y/Z
empty: {}
list:
  - one
  - name: two
    on_it: true
flow: { path: /readyz, codes: [200, "204"] }
args: ["-c", null]
---
other: document
"""
    assert read_documents(text) == [
        {
            "name": "web",
            "count": 3,
            "quoted": "3 # no comment",
            "url": "nats://a:1,nats://b:2",
            "@type": "x.y/Z",
            "empty": {},
            "list": ["one", {"name": "two", "on_it": True}],
            "flow": {"path": "/readyz", "codes": [200, "204"]},
            "args": ["-c", None],
        },
        {"other": "document"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a:\tb",
        "a: *anchor",
        "a: &anchor b",
        "a: |\n  text",
        "a: yes",
        "a: 0755",
        "a: 22:22",
        "a:",
        "a: b\na: c",
        "a: b\n   c: d",
        "a: [b, c",
        "a: b: c",
        "just text",
        "a:\n  - - nested",
    ],
)
def test_what_readers_disagree_about_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d|comma"):
        read_documents(text)
