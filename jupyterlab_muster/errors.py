"""Errors in the API's own shape (specs/api.md, "Errors"; the list is src/protocol/errors.ts)."""

from __future__ import annotations

from typing import Any

#: The codes this half makes itself, with their HTTP status. All others pass through unchanged.
STATUS = {
    "forbidden": 403,
    "not-found": 404,
    "too-large": 413,
    "internal": 500,
    "bridge-starting": 503,
    "bridge-unavailable": 503,
}


class MusterError(Exception):
    """An error a person can act on; ``details`` holds the raw words beside ours."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        details: dict[str, Any] | None = None,
        status: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.path = path
        self.details = details or {}
        self.status = status if status is not None else STATUS.get(code, 500)

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def body(self) -> dict[str, Any]:
        """What is sent: ``{"error": {code, message, path?, hint?, details?}}``."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        for key in ("path", "hint", "details"):
            value = getattr(self, key)
            if value:
                error[key] = value
        return {"error": error}


class BridgeUnavailable(MusterError):
    """The bridge cannot be started or may not be used: what was tried, and the fix."""

    def __init__(
        self,
        message: str,
        *,
        fix: str | None = None,
        tried: list[str] | None = None,
        log: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        given = {"fix": fix, "tried": tried, "log": log, **(details or {})}
        super().__init__(
            "bridge-unavailable",
            message,
            hint=fix,
            details={key: value for key, value in given.items() if value is not None},
        )


class BridgeStarting(MusterError):
    """The bridge is on its way; ask again."""

    def __init__(self, seconds: float, message: str = "The Muster bridge is starting.") -> None:
        super().__init__("bridge-starting", message, details={"seconds": round(seconds, 1)})
