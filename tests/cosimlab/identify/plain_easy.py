"""A short EASY in plain Python, and mutants of it: one or two small changes of its source each."""

import ast
import random

SOURCE = '''
def easy(submit, run, requested, nodes, total):
    """Start times of textbook EASY; all ends and submissions of an instant, then one pass."""
    start, waiting, running = {}, [], []
    coming = list(range(len(submit)))
    while coming or waiting or running:
        tick()
        now = min([submit[j] for j in coming] + [start[j] + run[j] for j in running])
        running = [j for j in running if start[j] + run[j] > now]
        waiting = waiting + [j for j in coming if submit[j] <= now]
        coming = [j for j in coming if submit[j] > now]
        free = total - sum(nodes[j] for j in running)
        while waiting and nodes[waiting[0]] <= free:
            tick()
            head = waiting.pop(0)
            start[head] = now
            free = free - nodes[head]
            running.append(head)
        if not waiting:
            continue
        head, shadow, extra = waiting[0], now, free
        for j in sorted(running, key=lambda j: start[j] + requested[j]):
            if extra >= nodes[head] and start[j] + requested[j] > shadow:
                break
            shadow = max(now, start[j] + requested[j])
            extra = extra + nodes[j]
        extra = extra - nodes[head]
        for j in waiting[1:]:
            if nodes[j] > free:
                continue
            if now + requested[j] > shadow:
                if nodes[j] > extra:
                    continue
                extra = extra - nodes[j]
            free = free - nodes[j]
            start[j] = now
            running.append(j)
            waiting.remove(j)
    return [float(start[j]) for j in range(len(submit))]
'''
STEPS = 2_000
"""Rounds of its loops after which a mutant is stopped."""

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
}
SWAPPED = {"min": "max", "max": "min"}


def mutations(tree):
    """Functions that change one place of a syntax tree, each in its own way."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for other in COMPARISONS.get(type(node.ops[0]), ()):
                yield lambda node=node, other=other: node.ops.__setitem__(0, other())
        if isinstance(node, ast.BinOp):
            swap = ast.Sub if isinstance(node.op, ast.Add) else ast.Add
            yield lambda node=node, swap=swap: setattr(node, "op", swap())
            for change in (1, -1):
                yield lambda node=node, change=change: setattr(
                    node, "right", ast.BinOp(node.right, ast.Add(), ast.Constant(change))
                )
        if isinstance(node, ast.BoolOp):
            swap = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield lambda node=node, swap=swap: setattr(node, "op", swap())
        if isinstance(node, ast.Name) and node.id in SWAPPED:
            yield lambda node=node: setattr(node, "id", SWAPPED[node.id])
        if isinstance(node, ast.Name) and node.id in ("requested", "run"):
            other = "run" if node.id == "requested" else "requested"
            yield lambda node=node, other=other: setattr(node, "id", other)
        for block in ("body", "orelse"):
            lines = getattr(node, block, [])
            for place in range(len(lines) if isinstance(lines, list) else 0):
                if ast.unparse(lines[place]) == "tick()":
                    continue  # without it, nothing stops a mutant that does not end
                yield lambda lines=lines, place=place: lines.__setitem__(place, ast.Pass())


def compiled(tree):
    """The function of a tree, which raises where it goes on for too long."""
    left = [0]

    def tick():
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("it does not end")

    names = {"tick": tick}
    exec(compile(ast.fix_missing_locations(tree), "mutant", "exec"), names)

    def run(*jobs):
        left[0] = STEPS
        return names["easy"](*jobs)

    return run


def easy():
    """The function itself."""
    return compiled(ast.parse(SOURCE))


def forgetful_easy():
    """The function without the line that takes extra nodes away."""
    line = "                extra = extra - nodes[j]\n"
    assert SOURCE.count(line) == 1
    return compiled(ast.parse(SOURCE.replace(line, "")))


def mutant(seed):
    """A mutant; each third of them has two changes."""
    drawn = random.Random(seed)
    tree = ast.parse(SOURCE)
    for _ in range(2 if seed % 3 == 0 else 1):
        drawn.choice(list(mutations(tree)))()
    return compiled(tree)


def running_mutants(count, logs):
    """The first mutants that end and give starts on all of some logs, each with its number."""
    found, seed = 0, 0
    while found < count:
        one = mutant(seed)
        if gives_starts(one, logs):
            found += 1
            yield seed, one
        seed += 1


def gives_starts(one, logs):
    """Whether a mutant ends on each log and returns starts."""
    try:
        return all(isinstance(one(*jobs), list) for jobs in logs)
    except Exception:
        return False


def log(drawn):
    """A small random log: submissions, run times, requests, nodes, and the nodes of its machine."""
    n, total = drawn.randint(5, 20), drawn.randint(3, 8)
    submit = sorted(drawn.randint(0, drawn.choice([1, 10, 40])) for _ in range(n))
    run = [drawn.randint(1, 12) for _ in range(n)]
    requested = [length + drawn.choice([0, 0, 1, 5, 20]) for length in run]
    return submit, run, requested, [drawn.randint(1, total) for _ in range(n)], total
