"""What is public says what it does, and every module says what of it is public."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).resolve().parents[2] / "src"
FILES: Final = tuple(sorted(SOURCE.rglob("*.py")))

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES: Final = tuple(map(module_name, FILES))


def is_public(name: str) -> bool:
    """Tell whether a name is for others; the class speaks for its special methods."""
    return not name.startswith("_")


def public_parts(node: Documented, name: str) -> Iterator[tuple[str, Documented]]:
    """Yield what has to be documented: a module or class, and its public members."""
    yield name, node
    for child in node.body:
        match child:
            case ast.ClassDef() if is_public(child.name):
                yield from public_parts(child, f"{name}.{child.name}")
            case ast.FunctionDef() | ast.AsyncFunctionDef() if is_public(child.name):
                if not any(ast.unparse(mark) == "overload" for mark in child.decorator_list):
                    yield f"{name}.{child.name}", child
            case _:
                pass


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_everything_public_has_a_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"), str(path))
    parts = public_parts(tree, module_name(path))
    assert [name for name, node in parts if not ast.get_docstring(node)] == []


def in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Sort as ruff does: constants, then classes, then the rest."""

    def key(name: str) -> tuple[int, str]:
        if name.isupper():
            return 0, name
        return (1 if name[:1].isupper() else 2), name

    return tuple(sorted(names, key=key))


@pytest.mark.parametrize("name", MODULES)
def test_the_public_list_of_a_module_is_a_sorted_tuple_of_what_there_is(name: str) -> None:
    module = import_module(name)
    public: object = getattr(module, "__all__", ())
    assert isinstance(public, tuple)
    names = tuple(str(item) for item in public)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any module's
    assert [item for item in names if not hasattr(module, item)] == []
    assert names == in_order(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name", [module_name(path) for path in FILES if not path.name.startswith("__")]
)
def test_every_module_has_a_public_list(name: str) -> None:
    assert hasattr(import_module(name), "__all__")


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        # The module itself, and what it holds.
        ("x = 1", ["m"]),
        ('"""M."""\ndef f(): ...', ["m.f"]),
        ('"""M."""\nasync def f(): ...', ["m.f"]),
        ('"""M."""\nclass C:\n  def f(self): ...', ["m.C", "m.C.f"]),
        # What is not for others, and what the class speaks for.
        ('"""M."""\ndef _f(): ...\nclass _C:\n  def f(self): ...', []),
        ('"""M."""\nclass C:\n  """C."""\n  def __init__(self): ...', []),
        # The forms of an overloaded function share one text.
        ('"""M."""\n@overload\ndef f(): ...\ndef f():\n  """F."""', []),
    ],
)
def test_what_lacks_a_docstring_is_found(source: str, missing: list[str]) -> None:
    parts = public_parts(ast.parse(source), "m")
    assert [name for name, node in parts if not ast.get_docstring(node)] == missing
