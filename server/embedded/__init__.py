"""PostgreSQL and Valkey as children of the server, for whoever has no stores of their own.

Both listen on unix sockets in a private folder and nowhere else, and both end with the server, however it
ends. Everything that lasts is under one home folder:

    lock            held by the one server of this home
    postgres/       the database, owned by the user the children run as
    postgres.lock   held by every process of that database, so that two never meet on one folder
    logs/           what the children say
    sockets         a link to the folder of their sockets, which is new at each start
    programs/       copies of the programs, if the installed ones cannot be read by that user
"""

from server.embedded.errors import EmbeddedError
from server.embedded.stores import EmbeddedStores

__all__ = ["EmbeddedError", "EmbeddedStores"]
