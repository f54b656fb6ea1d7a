"""Work that is spread: here, or by whoever was brought, in the tasks' order."""

import threading

import pytest

from classmark.progress import shown_by, spread, spread_by


class Backwards:
    """Does the last task first, and remembers what it was given."""

    def __init__(self):
        self.asked = []

    def spread(self, work, tasks, shared):
        self.asked.append((len(tasks), tuple(shared)))
        for number in reversed(range(len(tasks))):
            yield number, work(tasks[number], *shared)


class Counting:
    """A display that counts."""

    def __init__(self):
        self.told = []

    def track(self, items, what, total):
        seen = 0
        for item in items:
            seen += 1
            yield item
        self.told.append((what, seen, total))


def test_alone_it_is_a_loop_in_order():
    order = []

    def work(task, more):
        order.append(task)
        return task + more

    assert spread(work, [3, 1, 2], [10]) == [13, 11, 12]
    assert order == [3, 1, 2]
    assert spread(work, [], [10]) == []


def test_results_keep_the_tasks_order_whoever_does_them():
    brought = Backwards()
    with spread_by(brought):
        assert spread(pow, [2, 3, 4], [2]) == [4, 9, 16]
    assert brought.asked == [(3, (2,))]
    assert spread(pow, [2, 3], [3]) == [8, 27]
    assert len(brought.asked) == 1


def test_one_task_is_done_here():
    brought = Backwards()
    with spread_by(brought):
        assert spread(pow, [5], [2]) == [25]
    assert brought.asked == []


def test_the_innermost_spreader_does_it_and_goes():
    outer, inner = Backwards(), Backwards()
    with spread_by(outer):
        with pytest.raises(ZeroDivisionError), spread_by(inner):
            spread(divmod, [1, 2], [0])
        spread(pow, [1, 2], [2])
    assert (len(inner.asked), len(outer.asked)) == (1, 1)


def test_other_threads_know_nothing_of_it():
    brought, found = Backwards(), []
    with spread_by(brought):
        thread = threading.Thread(target=lambda: found.append(spread(pow, [2, 3], [2])))
        thread.start()
        thread.join()
    assert found == [[4, 9]]
    assert brought.asked == []


@pytest.mark.parametrize("brought", [None, Backwards()], ids=["here", "away"])
def test_progress_is_told_task_by_task(brought):
    display = Counting()
    with shown_by(display):
        if brought is None:
            spread(pow, [1, 2, 3], [2], "powers")
        else:
            with spread_by(brought):
                spread(pow, [1, 2, 3], [2], "powers")
    assert display.told == [("powers", 3, 3)]
