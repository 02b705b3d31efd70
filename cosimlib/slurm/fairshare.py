"""Fair share: the tree of accounts, decayed usage, and each user's factor from 0 to 1.

Places in Slurm: ``src/plugins/priority/multifactor/priority_multifactor.c`` and ``fair_tree.c``.

- *Usage* of an association is the billed seconds of its jobs, those of its children included
  (``_apply_new_usage``). Every `PriorityCalcPeriod` all usage is multiplied by `d` ** seconds with
  `d` = 1 - 0.693 / half-life. Then a job that ran for `s` seconds of the period adds
  `s` × `d` ** `s` × billing × usage factor of its QOS. A job that ends adds its part then.
- *Shares*: a child has the part shares / sum of its siblings' shares of what its account has.
  With ``Fairshare=parent`` an association has no shares of its own: its children, or the user, are
  siblings of the children of the account above (``fs_assoc_ptr``).
- *Classic* (``_set_usage_efctv``, ``_set_assoc_fs_factor``): usage U of an association is its part
  of all usage. Its effective usage is U + (effective usage of the account - U) × its part of the
  siblings' shares; right below the root it is U. The factor is
  2 ** -(effective usage / normalized shares / dampening).
- *Fair Tree* (``_calc_tree_fs``): the tree is walked from the root, siblings in falling order of
  their level's fair share, which is (part of siblings' shares) / (part of the account's usage).
  Users of equal value have the same rank. The factor is rank / number of users. Slurm's
  documentation says that accounts of equal value are merged. Its code does not do that:
  ``_count_tied_accounts`` stops at the first account. The second account's best user gets the rank
  that the last user before it has. We follow the code; equal accounts keep their order.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.slurm.site import Association, Site
from cosimlib.slurm.sorting import sort_items

NOBODY = -1
LARGEST = 4294967294.0
"""``NO_VAL``, the level's fair share of an account without shares of its own."""

BRANCH = record_type(
    floats="usage shares level_shares norm_shares norm_usage effective_usage level factor "
    "is_account",
    integers="parent group is_parents first children",
)
"""An association: its `parent`, the account whose shares it divides (`group`), its children.

`is_account` is 0 for users, so that they come before accounts of an equal level. It is a float, as
`sort_items` takes both keys in one type.
"""


class Tree(NamedTuple):
    """Associations, accounts before their members; the children of all, account after account.

    Fair Tree sorts each account's part of `children` in place. It keeps a `stack` of who is to
    come, and of who is `tied` with the one before. `room` is for sorting.
    """

    branches: np.recarray
    children: np.ndarray
    stack: np.ndarray
    tied: np.ndarray
    room: np.ndarray


def tree_of(site: Site) -> tuple[Tree, dict[tuple[str, str], int]]:
    """The tree of a site, and the row of each association by its account and user.

    Raises
    ------
    ValueError
        If an account is named twice, or its parent is not there.
    """
    ordered = _ordered(site.name, site.associations)
    row = {(one.account, one.user): number for number, one in enumerate(ordered)}
    branches = records(len(ordered), BRANCH, parent=NOBODY, group=NOBODY, norm_shares=1.0)
    members: list[list[int]] = [[] for _ in ordered]
    for number, one in enumerate(ordered):
        branch = branches[number]
        branch.is_account, branch.is_parents = one.user == "", one.shares is None
        branch.shares = 0 if one.shares is None else one.shares
        if number == 0:
            continue
        branch.parent = row[_above(one)]
        branch.group = branch.parent
        while branches[branch.group].is_parents and branches[branch.group].group >= 0:
            branch.group = branches[branch.group].group
        members[branch.group].append(number)
    ends = np.cumsum([len(one) for one in members])
    branches.children = [len(one) for one in members]
    branches.first = ends - branches.children
    children = np.array([child for one in members for child in one], dtype=np.int64)
    for number in range(1, len(ordered)):
        _share(
            branches,
            branches[number],
            branches[members[branches[number].group]],
        )
    stack, tied, room = (np.zeros(len(ordered), np.int64) for _ in range(3))
    return Tree(branches, children, stack, tied, room), row


def fair_shares(site: Site, usage: dict[tuple[str, str], float]) -> pd.DataFrame:
    """Fair-share factors of a site whose users have used so much: what ``sshare`` prints.

    Parameters
    ----------
    site : Site
    usage : dict of (account, user) to float
        Usage of the users, in any unit; accounts have that of their members.

    Returns
    -------
    pd.DataFrame
        One row per association: `account`, `user`, `norm_shares`, `norm_usage`,
        `effective_usage`, `factor` (0 for accounts).

    Examples
    --------
    >>> from cosimlib.slurm import Association, Site, fair_shares
    >>> users = [Association("lab", name, "lab") for name in ("ann", "bob")]
    >>> tree = (Association("root"), Association("lab", parent="root"), *users)
    >>> site = Site("two users", (), {}, associations=tree)
    >>> fair_shares(site, {("lab", "ann"): 100.0})[["user", "factor"]]
      user  factor
    0          0.0
    1          0.0
    2  ann     0.5
    3  bob     1.0
    """
    tree, row = tree_of(site)
    for key, used in usage.items():
        add_usage(tree.branches, row[key], used)
    if site.priority.fair_tree:
        rank_users(tree)
    else:
        set_effective_usage(tree)
        set_classic_factors(tree, float(site.priority.damping))
    names = ["norm_shares", "norm_usage", "effective_usage", "factor"]
    table = pd.DataFrame({name: tree.branches[name] for name in names})
    keys = pd.DataFrame(list(row), columns=["account", "user"])
    table["factor"] = table["factor"].where(tree.branches.is_account == 0, 0.0)
    return pd.concat([keys, table], axis=1)


def _above(one: Association) -> tuple[str, str]:
    """The account that an association stands in."""
    return (one.account if one.user else one.parent, "")


def _ordered(name: str, associations: tuple[Association, ...]) -> list[Association]:
    """Associations, accounts before their members, else in their order."""
    keys = [(one.account, one.user) for one in associations]
    twice = [key for key in set(keys) if keys.count(key) > 1] if len(set(keys)) < len(keys) else []
    if twice:
        raise ValueError(f"{name}: association {twice[0]} is given twice; expected it once")
    waiting = {one.account: one for one in associations if not one.user}
    done: dict[str, Association] = {}

    def enter(account: str) -> None:
        one = waiting[account]
        if account in done:
            return
        if one.parent:
            if one.parent not in waiting:
                raise ValueError(
                    f"{name}: account {account!r} has the parent {one.parent!r}, which is no "
                    "account of the site"
                )
            enter(one.parent)
        done[account] = one

    for account in waiting:
        enter(account)
    for one in associations:
        if one.user and one.account not in done:
            raise ValueError(
                f"{name}: user {one.user!r} is in {one.account!r}, which is no account"
            )
    return [*done.values(), *(one for one in associations if one.user)]


def _share(branches: np.recarray, branch: np.record, siblings: np.ndarray) -> None:
    """Set what an association has of its siblings' shares, and of all shares."""
    branch.level_shares = sum(one.shares for one in siblings if not one.is_parents)
    above = branches[branch.group].norm_shares
    if branch.is_parents:
        branch.norm_shares = above
    else:
        part = branch.shares / branch.level_shares if branch.level_shares else 0.0
        branch.norm_shares = part * above


# --- kernels --------------------------------------------------------------------------------------


@kernel
def add_usage(branches: np.recarray, branch: int, amount: float) -> None:
    """Add usage to an association and to all above it."""
    while branch >= 0:
        branches[branch].usage += amount
        branch = branches[branch].parent


@kernel
def decay_usage(branches: np.recarray, factor: float) -> None:
    """Multiply all usage; a factor of 0 resets it."""
    for row in range(branches.size):
        branches[row].usage *= factor


@kernel
def set_effective_usage(tree: Tree) -> None:
    """Effective usage of classic fair share, from the root down."""
    branches = tree.branches
    for row in range(1, branches.size):
        one = branches[row]
        _normalize(branches, row)
        above = branches[one.group].effective_usage
        if one.group == 0 and not one.is_parents:
            one.effective_usage = one.norm_usage
        elif one.is_parents and one.group > 0:
            one.effective_usage = above
        elif one.group == 0:
            one.effective_usage = one.norm_usage
        elif one.level_shares == 0:
            one.effective_usage = above
        else:
            part = one.shares / one.level_shares
            one.effective_usage = one.norm_usage + (above - one.norm_usage) * part


@kernel
def set_classic_factors(tree: Tree, damping: float) -> None:
    """Factors of classic fair share, from the effective usage."""
    branches = tree.branches
    for row in range(1, branches.size):
        one = branches[branches[row].group if branches[row].is_parents else row]
        if one.norm_shares <= 0:
            branches[row].factor = 0.0
        else:
            branches[row].factor = 2.0 ** -(one.effective_usage / one.norm_shares / damping)


@kernel
def rank_users(tree: Tree) -> None:
    """Factors of Fair Tree, by a walk of the tree that keeps a stack of who is still to come."""
    branches = tree.branches
    users = 0
    for row in range(branches.size):
        users += branches[row].is_account == 0
    size = _push_children(tree, 0, 0, 0)
    rank, next_rank = users, users
    while size:
        size -= 1
        row, is_tied = tree.stack[size], tree.tied[size]
        if branches[row].is_account:
            size = _push_children(tree, row, is_tied, size)
            continue
        if not is_tied:
            rank = next_rank
        branches[row].factor = rank / users
        next_rank -= 1


@kernel
def _push_children(tree: Tree, account: int, is_tied: int, size: int) -> int:
    """Push the children of an account so that the best is popped first; the stack's new size."""
    branches, one = tree.branches, tree.branches[account]
    n = one.children
    siblings = tree.children[one.first : one.first + n]
    for row in siblings:
        _set_level(branches, row)
    sort_items(siblings, branches.level, branches.is_account, tree.room)
    for place in range(n):
        row = siblings[place]
        top = size + n - 1 - place
        tree.stack[top] = row
        if place == 0:
            tree.tied[top] = is_tied
        else:
            tree.tied[top] = branches[row].level == branches[siblings[place - 1]].level
    return size + n


@kernel
def _set_level(branches: np.recarray, row: int) -> None:
    """The level's fair share of an association: its shares by its usage, both of its siblings."""
    one = branches[row]
    _normalize(branches, row)
    above = branches[one.group].usage
    one.effective_usage = one.usage / above if above > 0 else 0.0
    if one.is_parents:
        one.level = LARGEST if one.is_account else np.inf
    elif one.shares == 0 or one.level_shares == 0:
        one.level = 0.0
    elif one.effective_usage == 0:
        one.level = np.inf
    else:
        one.level = one.shares / one.level_shares / one.effective_usage


@kernel
def _normalize(branches: np.recarray, row: int) -> None:
    """The part of all usage that an association has."""
    total = branches[0].usage
    branches[row].norm_usage = min(1.0, branches[row].usage / total) if total > 0 else 0.0
