"""The one error of the embedded stores."""


class EmbeddedError(Exception):
    """The embedded stores cannot run; the text is for an operator and says what to do about it."""
