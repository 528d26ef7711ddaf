"""mindshare: where a language model's attention goes."""

__version__ = "0.1.0"
