"""Prompt: what a user enters, be it an entry of several lines, a form, or yes or no."""

from __future__ import annotations

from typing import Final

from dragoman.cli.chat.draft import Draft
from dragoman.cli.chat.fields import Field
from dragoman.cli.chat.forms import Form
from dragoman.cli.chat.keyboard import Reads
from dragoman.cli.chat.view import View
from dragoman.model.parts import Part

__all__ = ("Prompt",)

_CONTINUED: Final = "...> "


class Prompt:
    """Asks the user.

    Attributes:
        is_over: the user has left: by Ctrl-D, or by Ctrl-C twice with nothing entered in between.
    """

    def __init__(self, keyboard: Reads, view: View) -> None:
        """Read from a keyboard; what is good to know is said on a view."""
        self._keyboard = keyboard
        self._view = view
        self._interrupts = 0
        self.is_over = False

    def enter(self, label: str, *, is_secret: bool = False) -> str | None:
        """Return an entry; None if the user has cleared it, or left.

        Args:
            is_secret: it is one line, which is neither shown nor kept.
        """
        draft = Draft()
        entry: str | None = None
        try:
            while entry is None:
                prompt = _CONTINUED if draft.is_begun else f"{label}> "
                if is_secret:
                    entry = self._keyboard.read_secret(prompt)
                else:
                    entry = draft.add(self._keyboard.read(prompt, is_kept=True))
        except KeyboardInterrupt:
            self._view.break_line()
            self._interrupts += 1
            if self._interrupts > 1:
                self.is_over = True
            else:
                self._view.note("Ctrl-C again, Ctrl-D or /quit leaves")
            return None
        except EOFError:
            self._leave()
            return None
        self._interrupts = 0
        return entry

    def fill(self, form: Form) -> Part | None:
        """Have a form filled in; None if the user would rather not, or has left."""
        self._view.note("an empty line takes the default; Ctrl-C leaves the form for a free answer")
        try:
            return form.fill(self._ask, self._view.note)
        except KeyboardInterrupt:
            self._view.break_line()
            self._view.note("answer in your own words; /form opens the form again")
        except EOFError:
            self._leave()
        return None

    def agrees(self, question: str) -> bool:
        """Tell whether the user says yes; anything else is no."""
        try:
            return self._keyboard.read(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except KeyboardInterrupt:
            self._view.break_line()
        except EOFError:
            self._leave()
        return False

    def _ask(self, field: Field) -> str:
        if field.help:
            self._view.note(field.help)
        read = self._keyboard.read_secret if field.is_secret else self._keyboard.read
        return read(f"{field.label}: ")

    def _leave(self) -> None:
        self.is_over = True
        self._view.break_line()
