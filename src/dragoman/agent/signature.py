"""Signatures: what a skill takes and gives, worked out once when it is decorated.

``Signature.bind`` turns a message into arguments without looking at the function again;
``input_modes`` and ``output_modes`` say which media types the card names.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from enum import Enum
from typing import Annotated, Any, Final, NewType, Protocol, TypeGuard, Union, cast

import msgspec
from msgspec import UNSET, Struct

from dragoman.agent.callables import underlying
from dragoman.agent.context import Context
from dragoman.agent.results import File, Reply
from dragoman.agent.sync_context import SyncContext
from dragoman.errors import FieldViolation, InvalidParamsError, UsageError
from dragoman.model.base import is_object
from dragoman.model.media_types import ANY, JSON, TEXT
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES, is_model
from dragoman.model.schema import convert, invalid, schema_of, schemas_of
from dragoman.model.tasks import Artifact

if typing.TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = (
    "ANY",
    "JSON",
    "TEXT",
    "Kind",
    "Parameter",
    "Signature",
    "alternatives",
    "hints_of",
    "input_modes",
    "inspect_signature",
    "is_object_type",
    "output_modes",
)

_NO_DEFAULT: Final = inspect.Parameter.empty
_MISSING: Final = object()
_ANYTHING: Final = frozenset[object]((object, Any))
_SEQUENCES: Final[tuple[object, ...]] = (list, tuple, Sequence)
_NOT_DATA: Final = frozenset[object]((Part, File, Message, Context, SyncContext))

_STREAMS: Final = (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
)
_BYTES: Final = frozenset[object]((bytes, bytearray))
_FILES: Final = frozenset[object]((File, Part, Artifact))
_UNTOLD: Final = frozenset[object]((Reply, Any, object, None, types.NoneType))
_UNKNOWN: Final = (TEXT, JSON)


class Kind(Enum):
    """Where the value of a parameter comes from."""

    CONTEXT = "the turn"
    MESSAGE = "the message itself"
    FILE = "one file part"
    FILES = "all file parts that are left"
    TEXT = "a data part by name, or the text parts"
    DATA = "a data part, by name or whole"


class Parameter(Struct, frozen=True):
    """One parameter of a skill."""

    name: str
    kind: Kind
    annotation: object
    default: object = _NO_DEFAULT

    @property
    def is_required(self) -> bool:
        """Tell whether the caller must supply it."""
        return self.default is _NO_DEFAULT


class Signature:
    """The parameters of one skill, in the order in which the function takes them."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        """Work out what does not depend on the message."""
        self.parameters = parameters
        self._named = tuple(p for p in parameters if p.kind in (Kind.TEXT, Kind.DATA))
        self._texts = tuple(p for p in parameters if p.kind is Kind.TEXT)
        self._whole = _whole_parameter(self._named)
        self.takes_context: Final = any(p.kind is Kind.CONTEXT for p in parameters)
        self.takes_nothing_else: Final = all(p.kind is Kind.CONTEXT for p in parameters)
        # The common skill takes one text: one text part is the argument then, and that is all.
        others = [p for p in parameters if p.kind is not Kind.CONTEXT]
        self._is_one_text = len(others) == 1 and others[0].annotation is str
        self._is_lone_text = self._is_one_text and len(parameters) == 1

    def bind(self, message: Message, context: object = None) -> tuple[object, ...]:
        """Return the arguments.

        Raises:
            InvalidParamsError: something is missing or does not fit; every such thing is named.
        """
        if self._is_one_text and len(message.parts) == 1:
            text = message.parts[0].text
            if text is not None:
                if self._is_lone_text:
                    return (text,)
                return tuple(text if p.kind is Kind.TEXT else context for p in self.parameters)
        if self.takes_nothing_else:
            return (context,) * len(self.parameters)
        return _Binding(self, message, context).arguments()

    def schema(self) -> JsonObject | None:
        """Return the JSON Schema of the data part; None when text or files are all it takes."""
        fields = [p for p in self._named if p.kind is Kind.DATA or len(self._texts) > 1]
        if not fields:
            return None
        if len(fields) == 1 and fields[0] is self._whole and is_object_type(fields[0].annotation):
            return schema_of(fields[0].annotation)
        schemas, definitions = schemas_of([field.annotation for field in fields])
        properties = {
            field.name: _with_default(schema, field)
            for field, schema in zip(fields, schemas, strict=True)
        }
        schema: JsonObject = {"type": "object", "properties": properties}
        if required := [field.name for field in fields if field.is_required]:
            schema["required"] = required
        if definitions:
            schema["$defs"] = definitions
        return schema

    @property
    def named(self) -> tuple[Parameter, ...]:
        """The parameters that a data part can name."""
        return self._named

    @property
    def texts(self) -> tuple[Parameter, ...]:
        """The parameters that text can supply."""
        return self._texts

    @property
    def whole(self) -> Parameter | None:
        """The parameter that a whole data part may be."""
        return self._whole


class _Binding:
    """One message being turned into arguments."""

    __slots__ = ("_context", "_data", "_files", "_message", "_signature", "_violations")

    def __init__(self, signature: Signature, message: Message, context: object) -> None:
        self._signature = signature
        self._message = message
        self._context = context
        self._data = [
            (f"message.parts[{index}].data", part.data)
            for index, part in enumerate(message.parts)
            if part.data is not UNSET
        ]
        self._files = [
            File.from_part(part)
            for part in message.parts
            if part.raw is not None or part.url is not None
        ]
        self._violations: list[FieldViolation] = []

    def arguments(self) -> tuple[object, ...]:
        found = self._named_values()
        arguments = tuple(self._argument(p, found) for p in self._signature.parameters)
        if self._violations:
            raise invalid(self._violations)
        return arguments

    def _named_values(self) -> dict[str, tuple[str, object]]:
        """Return where each named parameter has its value, and which."""
        found: dict[str, tuple[str, object]] = {}
        for path, value in self._data:
            if is_object(value):
                for p in self._signature.named:
                    if p.name in value:
                        found.setdefault(p.name, (f"{path}.{p.name}", value[p.name]))
        whole = self._signature.whole
        if whole is not None and whole.name not in found:
            for place in self._data:
                if _could_be_whole(place[1], whole.annotation):
                    found[whole.name] = place
                    break
        self._give_text(found)
        return found

    def _give_text(self, found: dict[str, tuple[str, object]]) -> None:
        """Give the text to the one text parameter without a value, a required one if there is."""
        left = [p for p in self._signature.texts if p.name not in found]
        left = [p for p in left if p.is_required] or left
        if len(left) != 1:
            return
        for index, part in enumerate(self._message.parts):
            if part.text is not None:
                place = f"message.parts[{index}].text"
                found[left[0].name] = (place, text_of(self._message.parts))
                return

    def _argument(self, parameter: Parameter, found: dict[str, tuple[str, object]]) -> object:
        if parameter.kind is Kind.CONTEXT:
            return self._context
        if parameter.kind is Kind.MESSAGE:
            return self._message
        if parameter.kind is Kind.FILES:
            files, self._files = self._files, []
            return files if _is_list(parameter.annotation) else tuple(files)
        if parameter.kind is Kind.FILE:
            return self._files.pop(0) if self._files else self._absent(parameter)
        if parameter.name not in found:
            return self._absent(parameter)
        path, value = found[parameter.name]
        try:
            return convert(value, parameter.annotation, path)
        except InvalidParamsError as error:
            self._violations.extend(error.violations)
            return None

    def _absent(self, parameter: Parameter) -> object:
        if not parameter.is_required:
            return parameter.default
        self._violations.append(self._missing(parameter))
        return None

    def _missing(self, parameter: Parameter) -> FieldViolation:
        name = parameter.name
        if parameter.kind is Kind.FILE:
            return FieldViolation("message.parts", f'has no file for "{name}"; send a file part')
        if parameter.kind is Kind.TEXT and len(self._signature.texts) == 1:
            return FieldViolation("message.parts", f'has no text for "{name}"; send a text part')
        for path, value in self._data:
            if isinstance(value, dict):
                return FieldViolation(f"{path}.{name}", "is required")
        return FieldViolation(
            "message.parts", f'has no value for "{name}"; send a data part with it'
        )


def _whole_parameter(named: tuple[Parameter, ...]) -> Parameter | None:
    """Return the parameter that a whole data part may be, if there is one.

    Beside other parameters it must be a required one: else an object that names only the others
    would be taken for it.
    """
    data = [p for p in named if p.kind is Kind.DATA]
    objects = [p for p in data if is_object_type(p.annotation)]
    if len(objects) == 1 and (objects[0].is_required or len(data) == 1):
        return objects[0]
    if len(data) == 1 and (_is_list(data[0].annotation) or data[0].annotation in _ANYTHING):
        return data[0]
    return None


def _could_be_whole(value: object, annotation: object) -> bool:
    if annotation in _ANYTHING:
        return True
    return isinstance(value, dict if is_object_type(annotation) else list)


def _with_default(schema: JsonObject, parameter: Parameter) -> JsonObject:
    if parameter.is_required:
        return schema
    try:
        return {**schema, "default": msgspec.to_builtins(parameter.default)}
    except TypeError:
        return schema


def alternatives(annotation: object) -> tuple[object, ...]:
    """Return the types a value may have, without None; wrappers of a type are taken off."""
    annotation = _unwrapped(annotation)
    if typing.get_origin(annotation) not in (Union, types.UnionType):
        return (annotation,)
    members = [each for each in typing.get_args(annotation) if each is not types.NoneType]
    return tuple(member for each in members for member in alternatives(each))


def _unwrapped(annotation: object) -> object:
    if typing.get_origin(annotation) is Annotated:
        return _unwrapped(typing.get_args(annotation)[0])
    if isinstance(annotation, NewType):
        supertype: object = annotation.__supertype__
        return _unwrapped(supertype)
    if _is_alias(annotation):
        return _unwrapped(annotation.__value__)
    return annotation


class _Alias(Protocol):
    __value__: object


def _is_alias(annotation: object) -> TypeGuard[_Alias]:
    """Whether this is ``type Name = ...`` (PEP 695), from Python 3.12 on."""
    return type(annotation).__name__ == "TypeAliasType"


def is_object_type(annotation: object) -> bool:
    """Tell whether values of this type are JSON objects."""
    kinds = alternatives(annotation)
    return bool(kinds) and all(_is_one_object(kind) for kind in kinds)


def _is_one_object(kind: object) -> bool:
    origin = typing.get_origin(kind) or kind
    if not isinstance(origin, type):
        return False
    cls = cast("type[object]", origin)
    if issubclass(cls, dict | Mapping | Struct) or typing.is_typeddict(cls):
        return True
    return dataclasses.is_dataclass(cls) or is_model(cls) or hasattr(cls, "__attrs_attrs__")


def _is_list(annotation: object) -> bool:
    kinds = alternatives(annotation)
    return all((typing.get_origin(kind) or kind) in (list, Sequence) for kind in kinds)


def hints_of(function: Callable[..., object], where: str) -> dict[str, object]:
    """Return the resolved annotations of a function.

    Raises:
        UsageError: one of them cannot be resolved.
    """
    target = inspect.unwrap(underlying(function))
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{where}: the annotation of {_annotated_with(target, error.name)} cannot be resolved "
            f"({error}); define or import it at module level, outside of `if TYPE_CHECKING`"
        ) from error
    except TypeError as error:
        raise UsageError(f"{where}: its annotations cannot be read: {error}") from error


def _annotated_with(function: Callable[..., object], name: str | None) -> str:
    annotations: dict[str, object] = getattr(function, "__annotations__", {})
    found = [each for each, text in annotations.items() if name and name in str(text)]
    if not found or found[0] == "return":
        return "its result"
    return f"parameter {found[0]}"


def inspect_signature(
    function: Callable[..., object], where: str, hints: dict[str, object], *, is_async: bool
) -> Signature:
    """Work out what the parameters of a function mean.

    Raises:
        UsageError: one of them cannot be supplied from a message.
    """
    parameters: list[Parameter] = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise UsageError(f"{where}: parameter {each} takes any number of values; name them")
        annotation = hints.get(each.name, _MISSING)
        kind = _kind_of(each.name, annotation, f"{where}: parameter {each.name}", is_async=is_async)
        default: object = each.default
        parameters.append(Parameter(each.name, kind, annotation, default))
    if sum(p.kind is Kind.FILES for p in parameters) > 1:
        raise UsageError(f"{where}: only one parameter can take all files")
    return Signature(tuple(parameters))


def _kind_of(name: str, annotation: object, where: str, *, is_async: bool) -> Kind:
    if annotation is _MISSING:
        if name == "ctx":
            return Kind.CONTEXT
        raise UsageError(f"{where} needs a type annotation")
    kinds = alternatives(annotation)
    if kinds == (Context,) or kinds == (SyncContext,):
        return _context_kind(kinds[0], where, is_async=is_async)
    if kinds == (Message,):
        return Kind.MESSAGE
    if kinds == (File,):
        return Kind.FILE
    if kinds == (str,):
        return Kind.TEXT
    if len(kinds) == 1 and typing.get_origin(kinds[0]) in _SEQUENCES:
        items = [item for item in typing.get_args(kinds[0]) if item is not Ellipsis]
        if items == [File]:
            return Kind.FILES
    return _data_kind(annotation, where)


def _context_kind(kind: object, where: str, *, is_async: bool) -> Kind:
    if kind is Context and not is_async:
        raise UsageError(
            f"{where} is a Context, which a plain function cannot await: annotate it SyncContext, "
            "or make the function async"
        )
    if kind is SyncContext and is_async:
        raise UsageError(
            f"{where} is a SyncContext, which would block the loop: annotate it Context"
        )
    return Kind.CONTEXT


def _data_kind(annotation: object, where: str) -> Kind:
    if any(kind in _NOT_DATA for kind in alternatives(annotation)):
        raise UsageError(f"{where} cannot be {annotation}: take the Message and look at its parts")
    try:
        msgspec.json.Decoder(annotation)
        schema_of(annotation)
    except (TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[-1]
        raise UsageError(f"{where} cannot be taken from a data part: {reason}") from error
    return Kind.DATA


def input_modes(signature: Signature) -> tuple[str, ...]:
    """Return what the parameters can be made of.

    A skill that takes the whole message, or only a context, may look at parts of any kind.
    """
    kinds = {p.kind for p in signature.parameters}
    takes_any = bool(kinds & {Kind.MESSAGE, Kind.FILE, Kind.FILES}) or kinds == {Kind.CONTEXT}
    takes_text = bool(kinds & {Kind.MESSAGE, Kind.TEXT}) or kinds <= {Kind.CONTEXT}
    takes_data = Kind.DATA in kinds or len(signature.texts) > 1
    chosen = ((TEXT, takes_text), (JSON, takes_data), (ANY, takes_any))
    return tuple(mode for mode, is_taken in chosen if is_taken)


def output_modes(annotation: object, *, is_generator: bool) -> tuple[str, ...]:
    """Return what the results can be, from the annotation of the result."""
    if is_generator and typing.get_origin(annotation) in _STREAMS:
        annotation = typing.get_args(annotation)[0]
    modes: dict[str, None] = {}
    for kind in alternatives(annotation):
        modes.update(dict.fromkeys(_modes_of(kind)))
    return tuple(modes) or _UNKNOWN


def _modes_of(kind: object) -> tuple[str, ...]:
    if kind is str:
        return (TEXT,)
    if kind in _BYTES:
        return (BYTES,)
    if kind in _FILES:
        return (ANY,)
    origin = typing.get_origin(kind) or kind
    if origin in (list, tuple) and set(typing.get_args(kind)) & {File, Part}:
        return (ANY,)
    if kind in _UNTOLD or not isinstance(origin, type):
        return _UNKNOWN
    return (JSON,)
