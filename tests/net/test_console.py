# SPDX-License-Identifier: BSD-3-Clause
"""Scripts, start-up and exit as users meet them; no kernel network is needed here."""

import glob
import os
import re
import subprocess

from harness import quick, words

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = os.path.join(os.path.dirname(os.path.dirname(HERE)), "config")
PORTS = ["net_null0,copy=0", "net_null1,copy=0", "net_null2,copy=0", "net_null3,copy=0"]


def run_noref(lab, eal, options, timeout=30):
    """Run noref to its end; (exit status, stdout, stderr)."""
    command = [lab.settings.noref, "--no-huge", "--no-pci", "--no-telemetry", "--file-prefix",
               f"noref-{os.getpid()}-{lab.number}-once", "--lcores", lab.lcores(), *words(eal), "--", *words(options)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=timeout)
    assert done.returncode >= 0, f"killed by signal {-done.returncode}: {command}\n{done.stderr}"
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@quick
def shipped_configurations_load(lab):
    """Every config/*.conf, from a file at start-up."""
    paths = sorted(glob.glob(os.path.join(CONFIG, "*.conf")))
    assert paths
    for path in paths:
        name = os.path.basename(path).removesuffix(".conf")
        router = lab.noref(None, PORTS, f"source {path}", name=name, options="--no-start")
        assert router.ctl("show config").strip()
        router.stop()
        lab.routers.remove(router)


def configuration_survives_a_restart(lab):
    """`show config` and `save` of each shipped configuration, fed to a new process, say the same there."""
    for path in sorted(glob.glob(os.path.join(CONFIG, "*.conf"))):
        name = os.path.basename(path).removesuffix(".conf")
        first = lab.noref(None, PORTS, f"source {path}", name=name, options="--no-start")
        said = first.ctl("show config")
        saved = os.path.join(lab.folder, f"{name}.saved")
        first.ctl(f"save {saved}")
        first.stop()
        lab.routers.remove(first)
        second = lab.noref(None, PORTS, f"source {saved}", name=f"{name}-again", options="--no-start")
        again = second.ctl("show config")
        assert again == said, f"{path}: was\n{said}\nis\n{again}"
        second.stop()
        lab.routers.remove(second)


@quick
def bad_line_in_a_script(lab):
    """The file, the line and the reason; exit status 1; nothing started."""
    script = os.path.join(lab.folder, "bad.conf")
    with open(script, "w") as file:
        file.write("# a comment\n\nip addr add 10.0.0.1/24 dev 0\nip route add 10.1.0.0/16 via 10.0.9.1\n")
    status, _, error = run_noref(lab, "--vdev net_null0", f"--ctl=none --cmdline-file={script}")
    assert status == 1, status
    assert f"{script}:4: " in error and "10.0.9.1" in error, error


@quick
def mistakes_on_the_command_line(lab):
    """Each is one clear line and an exit status, never a crash."""
    ctl = f"--ctl={lab.folder}/x.sock"
    wrong = []
    for eal, options, expected in (
            ("--vdev net_null0", "--no-such-option", 2),
            ("--vdev net_null0", "--rxq=x", 2),
            ("--vdev net_null0", "--burst=0", 2),
            ("--vdev net_null0", "--burst=100000", 2),
            ("--vdev net_null0", "surplus", 2),
            ("--no-such-eal-option", "", 1),
            ("--vdev net_null0", f"{ctl} --cmdline-file=/nonexistent/file", 1),
            ("--vdev net_null0", f"{ctl} --total-num-mbufs=100000000", 1),
            ("--vdev net_null0", "--ctl=/proc/nowhere/noref.sock", 1),
            ("--vdev net_null0", f"{ctl} --config=(0,0,7)", 1),
            ("--vdev net_null0", f"{ctl} --config=(7,0,1)", 1),
            ("--vdev net_null0", f"{ctl} --config=(0,0,1),(0,0,1)", 2),
            ("--vdev net_nosuchdriver0", f"{ctl}", 1),
            ("--vdev net_pcap0,rx_pcap=/nonexistent/file", f"{ctl}", 1),
            ("", f"{ctl}", 1)):
        line = f"{eal} -- {options}"
        try:
            status, _, error = run_noref(lab, eal, options, timeout=8)
        except subprocess.TimeoutExpired:
            wrong.append(f"{line}: accepted, and running")
            continue
        if status != expected:
            wrong.append(f"{line}: exit status {status}, not {expected}: {error}")
        elif not [text for text in error.splitlines() if not text.startswith("EAL: ")]:
            wrong.append(f"{line}: no message")
    assert not wrong, "\n".join(wrong)


def help_is_help(lab):
    status, output, _ = run_noref(lab, "--vdev net_null0", "--help")
    assert status == 0 and "--cmdline-file" in output, output
    router = lab.noref(None, PORTS[:1], "", options="--no-start")
    assert re.search(r"^ *ip .*route", router.ctl("help"), re.M)
    assert "seg6local" in router.ctl("help ip")


def leaves_when_idle(lab):
    """--exit-on-idle with nothing to receive."""
    status, output, error = run_noref(lab, "--vdev net_ring0", f"--ctl={lab.folder}/x.sock --exit-on-idle=300")
    assert status == 0, error
    assert "net_ring0" in output, output


def quit_ends_it(lab):
    router = lab.noref(None, PORTS[:1], "", options="--no-start")
    router.ctl_status("quit")
    assert router.process.wait(10) == 0, router.log()
    lab.routers.remove(router)


def commands_on_standard_input(lab):
    """noref-ctl without a command reads lines and stops at the first error."""
    router = lab.noref(None, PORTS[:2], "", options="--no-start")

    def feed(text):
        return subprocess.run([lab.settings.ctl, "-s", router.socket], input=text, text=True, timeout=20,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = feed("ip addr add 10.0.0.1/24 dev 0\n# a comment\n\nip addr show\n")
    assert done.returncode == 0 and "10.0.0.1" in done.stdout, done
    done = feed("ip addr add 10.0.1.1/24 dev 1\nip addr add nonsense dev 0\nip addr add 10.0.2.1/24 dev 1\n")
    assert done.returncode == 1 and "nonsense" in done.stderr, done
    addresses = router.ctl("ip addr show")
    assert "10.0.1.1" in addresses and "10.0.2.1" not in addresses, addresses


TESTS = [shipped_configurations_load, configuration_survives_a_restart, bad_line_in_a_script,
         mistakes_on_the_command_line, help_is_help, leaves_when_idle, quit_ends_it, commands_on_standard_input]
