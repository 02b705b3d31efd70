"""Fair share: Slurm's own test of the classic kind, Fair Tree by hand, and what must not change."""

import pandas as pd
import pytest

from cosimlib.slurm import fair_shares
from cosimlib.slurm.fairshare import rank_users, tree_of
from cosimlib.slurm.site import Association, PrioritySettings, Site

COLUMNS = ("norm_shares", "norm_usage", "effective_usage", "factor")


def site_of(*associations, **priority):
    return Site("tree", (), {}, associations=associations, priority=PrioritySettings(**priority))


def test_classic_fair_share_is_that_of_test_130_2_of_slurm(oracle_path):
    table = pd.read_csv(oracle_path("slurm/fairshare-classic.csv"), dtype={"shares": str})
    table = table.fillna({"parent": "", "shares": "1"})
    associations, usage = [], {}
    for row in table.itertuples():
        shares = None if row.shares == "parent" else int(row.shares)
        if row.is_user:
            associations.append(Association(row.parent, row.name, row.parent, shares))
            usage[row.parent, row.name] = float(row.usage)
        else:
            associations.append(Association(row.name, "", row.parent, shares))
    got = fair_shares(site_of(*associations, fair_tree=False), usage).set_index("user")
    users = table[table["is_user"] == 1].set_index("name")
    assert len(users) == 12
    for column in COLUMNS:
        expected = users[column].astype(float)
        assert got.loc[users.index, column].to_numpy() == pytest.approx(expected, abs=1e-6)


def test_ranks_of_a_tree_do_not_depend_on_former_ranks():
    """Children are sorted in place, so that a tree is in another order when it is used again."""
    users = [("a", "x"), ("a", "y"), ("b", "v"), ("b", "w")]
    site = site_of(
        Association("root"),
        Association("a", "", "root", 1),
        Association("b", "", "root", 1),
        *(Association(account, user, account, 1) for account, user in users),
    )
    used, _ = tree_of(site)
    for usage in ([9.0, 1, 2, 2], [0.0, 0, 0, 0], [1.0, 9, 5, 0]):
        fresh, row = tree_of(site)
        for tree in (used, fresh):
            tree.branches.usage = 0.0
            for one, amount in zip(users, usage, strict=True):
                for branch in (row[one], row[one[0], ""], 0):
                    tree.branches[branch].usage += amount
            rank_users(tree)
        assert used.branches.factor.tolist() == fresh.branches.factor.tolist()
    assert sorted(used.branches.factor[[row[one] for one in users]]) == [0.25, 0.5, 0.75, 1.0]
