"""An agent with children and grandchildren of all kinds."""

from __future__ import annotations

FAMILY = """
subprocess.Popen(["sleep", "1000"])
subprocess.Popen(["setsid", "sh", "-c", "sleep 1000 & sleep 1000"])
subprocess.Popen(["sh", "-c", "trap '' TERM INT HUP; setsid sleep 1000 & while :; do sleep 1; done"])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
tell("ready", os.getpid())
while True:
    time.sleep(1)
"""
