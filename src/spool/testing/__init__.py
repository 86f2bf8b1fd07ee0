"""Test doubles for loops, also for users: play a plan without an agent, a disk or a clock.

    from spool.testing.doubles import says
    from spool.testing.play import play

    played = play(plan, says("Working."), says("<promise>COMPLETE</promise>"))
    assert played.finish.status is Status.DONE

`player` is the agent behind the `scripted` harness: it plays a script as a real process. It starts once per iteration,
so this package itself imports nothing.
"""
