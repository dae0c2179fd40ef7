"""The contracts: what a database, a lake, a change, a load and a check offer. Each can be added by a plug-in."""

from tidegate.interfaces.capabilities import Capabilities
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import BatchSize, ReadRequest
from tidegate.interfaces.session import Session

__all__ = ["BatchSize", "Capabilities", "Database", "ReadRequest", "Session"]
