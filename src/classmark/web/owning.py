"""Whose acts may somebody take back? Their own; an admin all of them."""

from __future__ import annotations

from classmark.web.guard.refusing import Refused
from classmark.web.people import Who
from classmark.workbench.deciding.history import Wanted, first_not_own
from classmark.workbench.team.desk import Desk


def require_own(
    desk: Desk, who: Who, first: int, last: int, wanted: Wanted | None = None
) -> None:
    """Refuse to take back acts of others, or on the taxonomy, to all but admins.

    Who is no admin corrects a label of somebody else by a decision of their own.
    """
    if who.may("admin"):
        return
    found = first_not_own(desk, first, last, who.name, wanted)
    if found is not None:
        raise Refused(
            403,
            f"Act {found} is another's, or changed the taxonomy: only an admin takes "
            "that back. Nothing was changed. To change a label, correct it, or decide "
            "on the document anew; to take back a range of your own acts, show only "
            "yours first.",
        )
