# SPDX-License-Identifier: BSD-3-Clause
"""Programs as verdicts: objects compiled here, captures through each of their codes."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import packets as p
from cases import SOURCE_MAC
from harness import ROOT, Router
from lab import PORT_MAC
from test_xdp import WORKERS, Case, flow_of, forwarded, frame, mixed, packet, swapped

CODES = ("aborted", "drop", "pass", "tx", "redirect")

SOURCE = """
#include <noref_xdp.h>

/* The code is the UDP source port less 1000; what is to be redirected goes to port 2 or 3. */
NOREF_SECTION("by_port")
int by_port(const struct noref_packet *p)
{
	unsigned int code = noref_be16(p, 34) - 1000;

	noref_count(code, p->length);
	if (code == XDP_REDIRECT)
		return noref_redirect(p->length > 1000 ? 2 : 3);
	return code;
}

NOREF_SECTION("nowhere")
int nowhere(const struct noref_packet *p)
{
	noref_redirect(noref_be16(p, 34) - 1000 + 7);
	return XDP_REDIRECT;
}

/* To the worker on lcore 1, 2 or 3, as the source port says. */
NOREF_SECTION("worker")
int worker(const struct noref_packet *p)
{
	return noref_redirect_worker(noref_be16(p, 34) - 1000 + 1);
}

/* Writes across the border of the third and fourth buffer, and into the head. */
NOREF_SECTION("write")
int write(const struct noref_packet *p)
{
	struct noref_block b;

	__builtin_memset(&b, 'x', sizeof(b));
	if (p->length > 6200 && noref_store(6100, &b, 60))
		return XDP_DROP;
	noref_put(16, 2, 0xabcd);
	return noref_get(16, 2) == 0xabcd ? XDP_TX : XDP_DROP;
}

NOREF_SECTION("loops")
int loops(const struct noref_packet *p)
{
	unsigned int s = 0;

	#pragma nounroll
	for (unsigned int i = 0; i < p->length; i++)
		s ^= noref_get(i, 1);
	return s & 1;
}
"""


def compile_program(source, to, *flags):
    subprocess.run(["clang", "-O2", "-target", "bpf", "-mcpu=v2", "-Wall", "-Werror", *flags,
                    f"-I{ROOT / 'include'}", "-c", str(source), "-o", str(to)], check=True)


class Programs(Case):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("clang"):
            raise unittest.SkipTest("there is no clang")
        folder = tempfile.mkdtemp(prefix="noref-programs-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.folder = pathlib.Path(folder)
        (cls.folder / "test.c").write_text(SOURCE)
        cls.object = cls.folder / "test.o"
        compile_program(cls.folder / "test.c", cls.object)

    def use(self, section, path=None):
        return f"xdp set dev 0 obj {path or self.object} section {section}\n"

    def run_program(self, section, frames, **more):
        """A Run, and what `xdp show` said of the program."""
        with self.router(self.use(section, **more), frames) as router:
            router.settle()
            shown = router.ask("xdp show")[0]
            run = router.finish()
        self.assertEqual(shown["obj"], len(frames))
        return run, shown["program"]


class OneWorker(Programs):
    def test_each_code(self):
        for code, word in enumerate(CODES):
            for size in (64, 1500, 8000):
                frames = [frame(packet(code, n, size)) for n in range(100)]
                run, program = self.run_program("by_port", frames)
                self.assertEqual({w: program[w] for w in CODES},
                                 {w: 100 if w == word else 0 for w in CODES})
                self.assertEqual(program["counters"][code], 100 * size)
                self.assertEqual(program["copies"], 0)
                out = {0: [], 1: [], 2: [], 3: []}
                if word == "pass":
                    out[1] = [forwarded(f) for f in frames]
                elif word == "tx":
                    out[0] = [swapped(f) for f in frames]
                elif word == "redirect":
                    out[2 if size > 1000 else 3] = frames
                self.assertEqual(run.sent, out)
                self.assertEqual(run.drops, {"aborted": {"xdp_aborted": 100},
                                             "drop": {"xdp_drop": 100}}.get(word, {}))

    def test_all_codes_in_a_burst(self):
        """Each in the order it came; what is no code is aborted."""
        frames = [frame(packet(n % 7, n, (64, 8000)[n % 2])) for n in range(700)]
        run, program = self.run_program("by_port", frames)
        of = {code: [f for n, f in enumerate(frames) if n % 7 == code] for code in range(7)}
        self.assertEqual(run.sent[0], [swapped(f) for f in of[3]])
        self.assertEqual(run.sent[1], [forwarded(f) for f in of[2]])
        self.assertEqual(run.sent[2], [f for f in of[4] if len(f) > 1000])
        self.assertEqual(run.sent[3], [f for f in of[4] if len(f) <= 1000])
        self.assertEqual(run.drops, {"xdp_aborted": 300, "xdp_drop": 100})
        self.assertEqual((program["aborted"], program["invalid"]), (300, 200))

    def test_redirect_to_no_port(self):
        frames = mixed()
        run, program = self.run_program("nowhere", frames)
        self.assertEqual(run.drops, {"xdp_aborted": len(frames)})
        self.assertEqual(program["invalid"], len(frames))

    def test_write(self):
        frames = mixed()
        run, program = self.run_program("write", frames)
        expected = []
        for sent in frames:
            sent = sent[:16] + b"\xab\xcd" + sent[18:]
            if len(sent) > 6200:
                sent = sent[:6100] + b"x" * 60 + sent[6160:]
            expected.append(swapped(sent))
        self.assertEqual(run.sent[0], expected)
        self.assertEqual(program["copies"], 0)

    def test_example(self):
        """config/programs/udp_filter.c does what it says."""
        example = self.folder / "udp_filter.o"
        compile_program(ROOT / "config" / "programs" / "udp_filter.c", example)
        dns, other = p.udp(b"dns", dport=53), p.udp(b"other", dport=54)
        ip4 = lambda data, **more: p.ip4("11.0.0.1", "10.1.0.5", p.UDP, data, **more)
        dropped = [p.eth(PORT_MAC[0], SOURCE_MAC, ip4(dns)),
                   p.eth(PORT_MAC[0], SOURCE_MAC, p.ip6("fd00::1", "fd00::2", p.UDP, dns)),
                   p.eth(PORT_MAC[0], SOURCE_MAC, ip4(dns), vlan=7),
                   p.eth(PORT_MAC[0], SOURCE_MAC, p.ip6("fd00::1", "fd00::2", p.UDP, dns), vlan=7)]
        kept = [p.eth(PORT_MAC[0], SOURCE_MAC, ip4(other)),
                p.eth(PORT_MAC[0], SOURCE_MAC, p.ip4("11.0.0.1", "10.1.0.5", p.TCP, dns)),
                bytes(range(14)), bytes(13)]
        run, program = self.run_program("udp_filter", dropped + kept, path=example)
        self.assertEqual((program["drop"], program["pass"]), (len(dropped), len(kept)))
        self.assertEqual(run.drops["xdp_drop"], len(dropped))
        self.assertEqual(program["counters"][:3], [len(dropped) + 1, len(dropped),
                                                   sum(map(len, dropped))])

    def test_trace(self):
        frames = [frame(packet(code, code)) for code in range(5)]
        with self.router(self.use("by_port") + "trace add 5\n", frames) as router:
            router.settle()
            steps = [entry["steps"] for entry in router.ask("trace show")]
            router.finish()
        for code, word in enumerate(CODES):
            self.assertIn("verdict: obj", steps[code])
            self.assertIn(f"program: {word}", steps[code])
        self.assertIn("xdp_aborted", steps[0][-1])
        self.assertTrue(steps[4][-1].startswith("sent on port 3"), steps[4])


class Changes(Programs):
    def test_replaced_while_running(self):
        frames = [frame(packet(1, n)) for n in range(50)]
        with self.router(self.use("by_port"), frames) as router:
            router.settle()
            for section in ("write", "by_port", "write"):
                router.tell(self.use(section).strip())
                router.feed(0, frames)
                router.settle()
            self.assertEqual(router.ask("xdp show")[0]["program"]["tx"], 50)
            router.tell("xdp off dev 0")
            self.assertNotIn("program", router.ask("xdp show")[0])
            run = router.finish()
        self.assertEqual(run.drops, {"xdp_drop": 100})

    def test_refused_and_nothing_changed(self):
        kernel = self.folder / "kernel.o"
        (self.folder / "kernel.c").write_text(
            '__attribute__((section("xdp"), used)) int prog(void *c) { return 1; }\n')
        compile_program(self.folder / "kernel.c", kernel)
        (self.folder / "broken.o").write_bytes(self.object.read_bytes()[:700])
        refused = (
            ("", "obj: an object file"),
            (f"{self.object}", "section NAME"),
            (f"{self.object} section", "section: a name"),
            (f"{self.object} section write now", "unexpected 'now'"),
            (f"{self.object} section other", "has no section noref/other; it has noref/by_port"),
            (f"{self.object} section loops", "has a loop"),
            (f"{self.folder}/none.o section a", "No such file or directory"),
            (f"{self.folder} section a", "is not a regular file"),
            (f"{self.folder}/broken.o section write", "truncated?"),
            (f"{kernel} section xdp", "laid out for the kernel"),
        )
        for before in ("xdp set dev 0 drop", self.use("by_port").strip()):
            with self.router(before + "\n", []) as router:
                verdict = router.ask("xdp show")[0]["verdict"]
                for words, message in refused:
                    line = f"xdp set dev 0 obj {words}"
                    status, out, err = router.try_ctl(line, json_wanted=False)
                    self.assertEqual((status, out), (1, ""), line)
                    self.assertIn(message, err, line)
                    self.assertEqual(err.count("\n"), 1, err)
                self.assertEqual(router.ask("xdp show")[0]["verdict"], verdict)
                run = router.finish()
            # The reason is in the answer, once, and not in the log too.
            self.assertNotIn("bpf", run.stderr + run.stdout)

    def test_config(self):
        """The line rebuilds the verdict, whatever is in the path."""
        odd = self.folder / "a folder" / "it's \"a\" #program\\.o"
        odd.parent.mkdir()
        shutil.copy(self.object, odd)
        with Router(f"xdp set dev 0 obj {self.object} section noref/write\n") as router:
            quoted = str(odd).replace("\\", "\\\\").replace("\"", "\\\"")
            status, _, err = router.try_ctl("", lines=f'xdp set dev 1 obj "{quoted}" section write\n')
            self.assertEqual((status, err), (0, ""))
            saved = [line for line in router.ask("show config") if "xdp" in line]
            shown = router.ask("xdp show")
            router.finish()
        self.assertEqual(saved[0], self.use("write").strip())
        self.assertEqual(shown[1]["program"]["object"], str(odd))
        with Router("\n".join(saved) + "\n") as router:
            self.assertEqual([line for line in router.ask("show config") if "xdp" in line], saved)
            again = router.ask("xdp show")
            router.finish()
        self.assertEqual([entry.get("program") for entry in again],
                         [entry.get("program") for entry in shown])


class Workers(Programs):
    lcores = WORKERS

    def test_to_workers(self):
        frames = [frame(packet(n % 3, n, (64, 8000)[n % 2])) for n in range(300)]
        with self.router(self.use("worker"), frames) as router:
            router.settle()
            lcores = {entry["lcore"]: entry["packets"] for entry in router.ask("show lcore")}
            program = router.ask("xdp show")[0]["program"]
            run = router.finish()
        self.assertEqual(program["redirect"], 300)
        self.assertEqual(run.drops, {})
        self.assert_flows(run.sent[1], [forwarded(f) for f in frames])
        self.assertEqual((lcores[2], lcores[3]), (100, 100))

    def test_to_no_worker(self):
        """Lcore 0 is the control thread's, 4 has none."""
        frames = [frame(packet(flow, 1)) for flow in (3, 2)] * 20
        run, program = self.run_program("worker", frames)
        self.assertEqual(run.drops, {"xdp_aborted": 20})
        self.assertEqual(program["redirect"], 20)
        self.assertEqual({flow_of(f) for f in run.sent[1]}, {flow_of(frames[1])})
