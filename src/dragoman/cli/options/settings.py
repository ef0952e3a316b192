"""The settings of one run: every option with its value and where that comes from.

Strongest first: the command line, the environment, the local file, the file of the agent, the
global file, the built-in value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from msgspec import Struct

from dragoman.cli.options.files import agent_file, is_open_to_others, nearest_file, read_file
from dragoman.cli.options.options import (
    AGENT_CARD,
    CATALOG,
    CONFIG,
    ENDPOINT,
    GLOBAL,
    PREFIX,
    Option,
)
from dragoman.cli.output import LEAST_SECRET
from dragoman.cli.surroundings import Surroundings
from dragoman.client.discovery.addresses import card_locations, file_path
from dragoman.client.discovery.catalog_reference import catalog_reference
from dragoman.errors import UsageError

__all__ = ("NO_SETTINGS", "Given", "Ignored", "Level", "Settings", "Source", "read_settings")

T = TypeVar("T")

_CONFIGURABLE: Final = {option.variable for option in GLOBAL if option.is_configurable}


class Level(IntEnum):
    """Where a value may come from, strongest first."""

    FLAG = 1
    ENVIRONMENT = 2
    LOCAL = 3
    AGENT = 4
    GLOBAL = 5
    BUILT_IN = 6


class Source(NamedTuple):
    """Where a value comes from: the flag, the variable or the path of the file."""

    level: Level
    place: str = ""

    def __str__(self) -> str:
        return self.place or "built-in"


class Given(NamedTuple):
    """One option on the command line, as it was spelled there."""

    option: Option[object]
    text: str
    flag: str


class Ignored(NamedTuple):
    """A key that is not taken: it is unknown, or for the command line alone."""

    variable: str
    source: Source


class _Layer(NamedTuple):
    """The texts of one level by variable; each source has the same place, or its own name."""

    level: Level
    place: str
    texts: Mapping[str, str]

    def source(self, variable: str) -> Source:
        return Source(self.level, self.place or variable)


class Settings(Struct, frozen=True):
    """The values of the options, read when they are asked for.

    Attributes:
        given: the command line, in its order.
        is_walked_up: the local file was found by looking for it and not named by the user.
    """

    given: tuple[Given, ...]
    layers: tuple[_Layer, ...]
    is_walked_up: bool

    def __getitem__(self, option: Option[T]) -> T:
        """Return the value of an option.

        Raises:
            UsageError: what stands there is no such value.
        """
        source, texts = self._find(option)
        if source.level is Level.BUILT_IN:
            return option.default
        try:
            items = tuple(map(option.read, texts))
        except ValueError as problem:
            raise UsageError(f"{source} {problem}") from None
        return cast("T", items[-1] if option.split is None else items)

    def source(self, option: Option[object]) -> Source:
        """Tell where the value of an option comes from."""
        return self._find(option)[0]

    def is_set(self, option: Option[object]) -> bool:
        """Tell whether somebody has set an option, be it to the built-in value."""
        return self.source(option).level is not Level.BUILT_IN

    def is_given(self, option: Option[object]) -> bool:
        """Tell whether an option stands on the command line."""
        return self.source(option).level is Level.FLAG

    def ignored(self) -> Iterator[Ignored]:
        """Yield the keys of the environment and of files that are not taken."""
        for layer in self.layers:
            for variable in layer.texts:
                if variable not in _CONFIGURABLE:
                    yield Ignored(variable, layer.source(variable))

    def exposed_files(self) -> Iterator[str]:
        """Yield the files that hold a secret in effect and that other users can read."""
        secrets = [option for option in GLOBAL if option.is_secret]
        places = {self.source(option) for option in secrets if self.is_set(option)}
        for source in sorted(places):
            is_file = source.level in (Level.LOCAL, Level.AGENT, Level.GLOBAL)
            if is_file and is_open_to_others(Path(source.place)):
                yield source.place

    def secrets(self) -> Iterator[str]:
        """Yield what must not be shown anywhere."""
        for option in dict.fromkeys((*GLOBAL, *(one.option for one in self.given))):
            for text in self._find(option)[1]:
                if not option.is_secret:
                    secret = _password_in(text)
                elif option.split is None:
                    secret = text
                else:
                    # The name before the value of a parameter is no secret.
                    secret = re.split("[:=]", text, maxsplit=1)[-1].strip()
                if len(secret) >= LEAST_SECRET:
                    yield secret

    def _find(self, option: Option[object]) -> tuple[Source, Sequence[str]]:
        given = [one for one in self.given if one.option is option]
        if given:
            return Source(Level.FLAG, given[-1].flag), [one.text for one in given]
        if option.is_configurable:
            for layer in self.layers:
                # An empty variable is one that was unset the only way some tools can.
                text = layer.texts.get(option.variable, "")
                if text:
                    texts = [text] if option.split is None else option.split(text)
                    return layer.source(option.variable), texts
        return Source(Level.BUILT_IN), ()


NO_SETTINGS: Final = Settings((), (), is_walked_up=False)
"""The built-in values."""


def read_settings(given: Sequence[Given], surroundings: Surroundings) -> Settings:
    """Gather the settings of a run; what is wrong on the command line is told at once.

    Raises:
        UsageError: a flag has a value that cannot be read, or a file cannot be.
    """
    named = [one.text for one in given if one.option is CONFIG]
    local = surroundings.folder / named[-1] if named else nearest_file(surroundings.folder)
    layers = [_environment(surroundings.environment)]
    if local is not None:
        layers.append(_Layer(Level.LOCAL, str(local), read_file(local)))
    shared = surroundings.settings_folder / ".env"
    if shared.is_file() and shared != local:
        layers.append(_Layer(Level.GLOBAL, str(shared), read_file(shared)))
    settings = Settings(tuple(given), tuple(layers), local is not None and not named)
    settings = _with_agent_file(settings, surroundings)
    for one in settings.given:
        settings[one.option]
    return settings


def _environment(environment: Mapping[str, str]) -> _Layer:
    ours = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    return _Layer(Level.ENVIRONMENT, "", ours)


def _with_agent_file(settings: Settings, surroundings: Surroundings) -> Settings:
    """Add the file of the agent that the other levels name; it cannot name another one itself."""
    reference = settings[ENDPOINT] or settings[AGENT_CARD] or ""
    if catalog_reference(reference, settings[CATALOG], surroundings.folder):
        # Who that is has to be looked up first.
        return settings
    origin = _origin_of(reference)
    path = agent_file(surroundings.settings_folder, origin) if origin else None
    if path is None or not path.is_file():
        return settings
    own = {AGENT_CARD.variable, ENDPOINT.variable}
    texts = {name: text for name, text in read_file(path).items() if name not in own}
    layers = sorted([*settings.layers, _Layer(Level.AGENT, str(path), texts)])
    return Settings(settings.given, tuple(layers), settings.is_walked_up)


def _password_in(text: str) -> str:
    """Return the password in a URL; "" if it is none, or has none."""
    try:
        return urlsplit(text).password or ""
    except ValueError:
        return ""


def _origin_of(reference: str) -> str:
    """Return scheme, host and port of a reference; "" if it is none of the network."""
    if not reference or file_path(reference) is not None:
        return ""
    parts = urlsplit(card_locations(reference)[0])
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
