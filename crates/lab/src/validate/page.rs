//! The page with every check, and its summary: docs/validation.md.

use super::case::{ComparedFigure, Counts, Verdict};
use super::runs::{IndependentRuns, whole_runs};

const HEAD: &str = "# Validation

Made by `paceline validate --traces DIR --tables DIR -o validation.md`. Each check holds a figure of ours
against one of a peer's. A row of a peer's file is a group: the scheme with its defaults, and then
variants that copy what the peer does differently. The verdict of the default counts; variants are
marked by an indent and are not counted.

- Runs of ns-3, ns-2 and htsim have a bottleneck of 12 Mbit/s, an RTT of 100 ms and a buffer of 250
  packets unless the row says otherwise; each packet is acknowledged; each flow has an access link of
  100 Mbit/s. Delays are counted from arrival until transmission starts. In windows that begin after
  10 s, ours are means of 10 windows, each a second later than the one before, and of 30 runs with
  seeds of their own where there are random numbers.
- Behind a scheme stand settings by the names of scenario files: `newreno, recovery=newreno` is NewReno without
  selective acknowledgements.
- `one run of ours` is where the figure of one further run lies with probability 95 %: the mean, plus
  and minus Student's t times the standard deviation times the root of 1 + 1/n. With fewer than three runs it is left out: with two,
  it is 31 standard deviations wide.
- A bound in packets is one in transmission times of a packet. A bound that was changed after its first
  run has the stated one behind it.
- `differs, within the spread`: beyond the bound, but the peer's figure lies where one run of ours may. The figure is
  one run, and of Linux the mean of two runs (6.12) or four (6.18). `differs, explained`: a variant that copies the
  peer agrees, or has the figure within its spread; below the tables stands which, and what it copies.
- Not shown are figures that the peers' files mark as doubtful: ns-3's LEDBAT, whose window does not
  move, and its four Cubic flows over CoDel, which stay in recovery; ns-2's single Cubic flow, which
  sends 33,791 packets again. Of the rows shown, numbers of drops and largest delays are not checked:
  they depend on a few packets at the end of slow start.
- Rows of Linux 6.12 are runs of Linux guests ([linux-guest.md](linux-guest.md)) over the simulator's own links and
  queues, 8 s from the start on, and runs of ours over equal ones: two each, which start half a millisecond apart.
- Rows of 802.11 are about the shared medium of [medium.md](medium.md). `medium` is `paceline medium`
  with packets of 1300 bytes and five seeds; flows are those of the XCP-b paper's network, five runs
  each. A queue there leaves out the packet in transmission. Left out are the rows that their file calls
  doubtful (ns-2's OFDM in both directions, stations whose addresses are not resolved, and XCP's pairs of
  flows) and its upper bounds without any backoff.
";

/// Findings about whole groups of differences. Their figures were measured when this was written.
const FOUND: &str = "
## What was found

**Reno and Cubic under managed queues.** Without variants, Reno has up to 4 % less throughput here
than in ns-3 over CoDel and PIE, and PIE's mean delay is a fifth lower. Runs of ns-3 3.37 itself,
traced, and variants here that change one thing at a time show four causes:

1. ns-3's device takes a packet from the queue before it can send it. The queue does not see this
   packet's delay. With a ring of one packet (`codel[ring=1]`, and so for `pie`, `fq_codel` and `red`)
   the largest and the 95th percentile of delay over CoDel become ns-3's to the packet.
2. In ns-3 the acknowledgement that ends a recovery also counts for the packets that were acknowledged
   selectively during it, so that the window grows by two packets at once
   (`newreno[after_recovery=covered]`). Linux does not count them, and neither does the default.
3. ns-3's sender falls silent after a quarter of a window when a recovery begins, where PRR sends a
   packet for every two that arrive. The queue drains at once. PIE's probability is still high then, and
   drops of packets that are sent during the recovery reduce the window a second time: that happened 20
   times in 30 runs of 50 s here, and twice in 14 runs of ns-3. With `prr=false`, which is silent, the
   throughput and the mean delay under PIE come to ns-3's.
4. ns-3's FQ-CoDel spares the last packet of a flow's queue, RFC 8290 the last one of all queues
   (`fq_codel[backlog=queue]`). With few packets per flow this makes a tenth of the throughput.

ns-3's figure for Reno over PIE is an unlikely one for ns-3 as well: 12 of its seeds give a mean delay
of 7.3 ms with a standard deviation of 0.5 ms, and the figure in the table is 8.25 ms.

**The first seconds over managed queues.** Eight of ns-3's figures over managed queues differ in 0 to 60 s alone,
without a cause; the same runs agree from 10 s on, or a variant does. From its two windows, ns-3 drops 97 to 1112
packets in the first 10 s, and the mean delay of four Cubic flows over FQ-CoDel is 29 ms there. Neither an end of
slow start by losses alone (`hystart=off`) nor repair without selective acknowledgements (`recovery=newreno`)
moves the mean delay of Cubic over CoDel and FQ-CoDel here by more than half a millisecond; Reno without them
keeps 100 ms over FQ-CoDel, which is not ns-3's. What else ns-3 does after its slow start was not found.

**Copa.** The default is the authors' program, which waits a gap after a full window. Real paths have some
jitter, without which the queueing delay in slow start is zero and its target infinite: with 1 ms of
jitter in the mean (`compare --jitter 1ms`) the 95th percentiles come down. The program itself has 89 and
130 ms in two runs on the first downlink, and 102 ms on the second. With 2 ms of jitter its figures on both downlinks agree or lie
within the spread.

**Sprout.** The program has data both ways, and its forecasts ride on the data of the other way. At
an RTT of 100 ms that takes it from 23 to 15 % of Verizon's downlink, where the program has 10 to 11;
at 40 ms, with a forecast in every tick, from 76 to 44, where it has 51. The gaps between forecasts of `feedback=flights` are those
that were measured there; at an RTT of 40 ms the directions are busy and forecasts come in every tick.
The program's sender wakes every 10 ms (`poll=10ms`); that changes little here, where forecasts come on
the dot. Its packets of 1,502 bytes become two fragments, which ours do not. The program's own code,
driven by a clock in virtual time, has 14.7 % in the mean of six traces, so that what is between the 15 % and the 10 % lies
between virtual and real time. With random delays of reports, 4 ms in the mean, ours has 13 % of Verizon's downlink
and 9 to 10 % of 12 Mbit/s: a late report forecasts a shorter time ahead. With 1 or 4 ms most figures at an RTT of 100 ms
agree or lie within the spread, and with 1 ms those of the program that sends one way. How long delays were in
the program's runs is not known (the machine's load was 2 to 8 on two cores), so that this explains the kind of difference, not its
size. Not known are the runs over AT&T's downlink with 12 Mbit/s back, and those at an RTT of 40 ms with data both ways on recorded
downlinks, where ours has a third of the link and the program half.

**PCC Vivace.** The program decides by the slope of the RTT over ten packets or more, cut to even
hundredths. At the floor of 1.3 Mbit/s ten packets take 90 ms, so that 2 ms of noise are a slope of
2 %, whose price of 226 per Mbit/s is far above what a higher rate is worth (1.3). Votes are a matter of
chance there, and a rate must win two of them in a row to leave the floor. The rule was compared with a
published version of the program and differs in details under loss only. What it does is random: ten
seeds are far apart, and random delays of some milliseconds keep it at low rates for longer. How much jitter the
machine had on which the program ran is not known, so that this is an explanation of the kind of
difference, not of its size. The default of `vivace` is the kernel module, another rule. Proteus-P, of
PCC's master, is not here.

**RemyCC.** The published tables are not part of this repository; `--tables` names their folder. With the
program's table `remy` has its delays, and its throughput on AT&T's downlink; on Verizon's it uses 89 % of the
link, the program 80 %. Both runs of the program were released late; whether that is the cause is not known. A rule applied for each packet
(`per=packet`), a resolution of 10 us for RTTs and 1 ms of jitter change ours by a point or less. The program's loop lets a
packet wait a rule's time after a full window: a copy of that, which was not kept, took ours to 90 % of AT&T's link, where the
program has 90, and to 88 % of Verizon's.

**Verus** has the program's penalised spline here. Its curve may dip and bend, so that it maps a small
step of the desired delay to a window many times as large, as in the program. Delays agree; the program
uses 5 to 8 points less of the link, and why is not known. Random delays of acknowledgements, 1 or 4 ms in the mean, change
ours by a point on Verizon's links. The program's bursts end where its socket is
full (`socket=92`), unless the emulator takes packets off it at once. The run on AT&T's downlink was
probably starved of processor time.

**Vegas.** ns-3 compares smoothed RTTs, and measures them in whole milliseconds, its handshake of 100.1 ms as
100 or 101. With four flows this makes ns-3's delays from 10 s on to a tenth of a millisecond
(`vegas[variant=ns3,clock=1ms,handshake=101ms]`). With one flow the ticks decide whether the window gets another
packet: of ten runs here that begin at all tenths of a millisecond (`phases=1ms`), three have 1.88 ms, as ns-3, and
seven 2.88.
ns-2 has two. The one of Linux 2.6.22 takes two round trips for each step (`step=before`), so that what slow
start leaves in the queue takes more than ten seconds to drain. Its first packet is a SYN of 40 bytes, whose RTT is
the smallest one. With both (`vegas[step=before,handshake=100.1ms]`) all figures of four flows agree or lie within the
spread, and so does the 95th percentile of one flow from 0 s on. That flow's mean delay is 10.4 ms then, for ns-2's 12.6,
and its figures from 10 s on are below ns-2's: a longer queue at the end of ns-2's slow start drains for longer. What makes
it longer is not known.
The other, ns-2's own, ends slow start early, for it compares mean RTTs and doubles in every second
round trip: that explains its throughput and its 95th percentile. It keeps one packet less in the queue, for a reason
that is not known: with a smallest RTT of 100.1 ms, ours uses half of the link. Of its four flows the delays from 10 s
on are those of a smallest RTT without a packet's transmission
(`handshake=100.1ms`), though ns-2's own Vegas has no handshake.

**DCTCP** of htsim reduces its window at the end of every window of observation as long as its average of marks is
above zero, whether packets were marked or not, and htsim's queue marks packets that leave. With both
(`dctcp[variant=htsim]+step[k=20,at=departure]`) throughput and delays from 10 s on are within 3 %
of htsim's. RFC 8257 reduces it when packets are marked: over 12 Mbit/s and 100 ms the default swings between 12
and 20 packets of queue, as the paper's fluid model has it. htsim's first timeout in DCTCP is 10 ms, less than the
RTT of 100 ms. By its source its SYN times out several times, which leaves a window and a threshold of two packets. A flow that
begins so, with Reno's growth (`initial_window=2,slow_start=false`), has all six figures of htsim, those of the
first 10 s too: 9.93 Mbit/s for 9.94.

**XCP over 96 Mbit/s** differs by two tenths of a millisecond. In 0 to 60 s that is the queue of the first round
trips. ns-2 starts its routers' timers at random. Of ten runs here whose flow begins at all phases of the first
interval of control, one more would have 0.13 to 0.41 ms with an initial window of 10 packets, and 0.09 to 0.50 with one
of 1, for ns-2's 0.43; with six flows, which begin together in bursts, phases change nothing. Neither
was made a variant, as ns-2's initial window is 10 by the peers' notes.

**Cubic in ns-2**, four flows: one of them has little more than half of what the others have, from 0 s as from 10 s on.
ns-2's is Linux 2.6.22's, without HyStart. `hystart=off` alone does not make flows unequal here; what does in
ns-2 was not found.

**Cubic over CoDel** on Verizon's downlink: the default is Linux' growth, whose window beside the curve,
Reno's, grows by half a packet per round trip for good, where RFC 9438 lets it grow by a whole one after a
while (`growth=linux` uses 72 % and `growth=rfc9438` 74 %, for the real 70). On the uplink the two use 63 and
65 %, for 65 to 66, so that this is not the whole of the difference.

**What the papers' claims run.** `copa[send=paper]` has the rules of today's default, so that the rows of Copa hold for it but
for the gap after a full window. `bbr[variant=linux4]` is the BBR of Linux before 5.1, of which there are no figures; beside
Linux 6.18 its utilisation agrees on all three paths, and its 95th percentiles are 32 to 36 % lower, where the default's agree.
`vivace` is the kernel module's rule; the program's figures, the only ones that there are, are of another rule.
`rcp[variant=abc]`, `vcp[variant=abc]`, `xcp[variant=abc]` and `xcpw` follow the routers of ABC's authors and have no peer: no figures
of these routers are at hand. Functions of RCP's and VCP's own models in ns-2 are compared in [peers.md](peers.md).

**802.11.** All totals of saturated stations agree with ns-2, as do all shares of frames that collide; the slow
station's totals are within 3 %, and NewReno's within 9 % of ns-2's, in the same order. What differs, and why:

1. *After a collision* ns-3's stations and the standard's form of Bianchi's model wait for a DIFS, ns-2's
   and ours of 802.11b for an EIFS. With a DIFS (`medium --after-collision difs`) all of ns-3's and of the
   model's totals agree: ten stations up and down at 11 Mbit/s have 5.67 Mbit/s then, for ns-3's 5.66. Slots,
   retries and timeouts are therefore not the reason. ns-2 and ns-3 are 4.5 % apart there, so that no model
   could be within 3 % of both by more than a hair.
2. *Answers of three stations*: ns-3 gives a packet that a station queues at the end of a frame that it
   receives access without a backoff. Its answers then follow the acknowledgement at once, and collide only if
   the access point draws no slot: 1/16 of the frames for 802.11a and 1/32 for 802.11b, as the file has it
   (0.065 to 0.067, and 0.032). With the same here (`access_at_arrival`) all four totals of three stations are
   within 0.6 %. By default such a station draws a backoff, since the medium has not been idle for a DIFS
   (IEEE 802.11-2020, 10.3.4.3). Until this was found, the runs for three stations gave all packets to one
   of them, which hid it.
3. *Who waits after a collision*: a flow's data and its acknowledgements wait at the access point or at the
   station, which have equal turns, so that their split drifts at random. After a collision, who sent the
   shorter frame has eleven slots less to wait than who sent the longer one here, so that acknowledgements
   hardly wait; in ns-2 it has two more ([medium.md](medium.md)), and they wait as long as data. With
   ns-2's waits (`after_own_collision=eifs`) its queues at the access point lie within the spread of ours where one flow
   fills the medium, as do queues and RTTs of XCP that is told too much, whose `d` contains what waits at
   stations: in the first 40 s, 5.15 Mbit/s make 300 to 400 ms in ns-2, 177 to 225 by default here, and 440 to
   520 with its waits. The spread is wide, since the split of one run drifts. Told 6 Mbit/s, ours are then 15 to
   25 % above ns-2.
4. *TCP without selective acknowledgements*: ns-2's timeouts follow one RTT sample per window and are 200 ms or little
   more. In slow start over a long queue they expire though nothing is lost; ns-2 halves its threshold
   and goes on from one packet, where Linux and ours notice the mistake. So windows of six flows that should have 200
   packets each have half of that after 50 s, and which flows are hit is a matter of chance. Where uploads run, the
   access point drops acknowledgements, windows grow by acknowledgements (`counts=acks`), and two losses in a
   window take two round trips. With all of it (`newreno[initial_window=2,counts=acks], recovery=newreno,
   timestamps=false`), and with ns-2's waits where one flow fills the medium, every queue and RTT of NewReno
   that differs by default agrees or lies within the spread, but for three uploads without drops.
5. *Three uploads without drops*: ns-2's 466 packets in place of 565 are what is left if one of three flows leaves slow
   start with its first packets in two of three seeds. ns-2 drops all but one packet that wait for an address to be
   resolved; that these are the losses was not shown, as addresses are not resolved here.
6. *Short preambles with answers at 1 Mbit/s*: ns-2 sends these with short preambles, too, which the standard does
   not have at 1 Mbit/s. With answers at 2 Mbit/s both have 4.90 to 4.92 Mbit/s.
7. *XCP that is told too much, with queues of 50 packets*: ns-2's totals fall to 59 to 90 % in timeouts, since its XCP
   repairs losses as Reno does, without selective acknowledgements; ours knows each lost packet, and its totals
   stay. With Reno's repair (`recovery=reno`) they fall here, too: queues and RTTs agree in all rows, totals in
   most. Told 7 Mbit/s, the total from 5 to 20 s falls further than ns-2's, to 1.6 for 2.3 Mbit/s.
";

/// Formats a figure with at least three significant digits.
fn figure(value: f64) -> String {
    let with = |decimals: usize| format!("{value:.decimals$}");
    // Rounding counts: 0.9996 becomes 1.00, not 1.000.
    let enough = |decimals: &usize| {
        let size = with(*decimals).parse::<f64>().map_or(0.0, f64::abs);
        size < [f64::INFINITY, 100.0, 10.0, 1.0][*decimals]
    };
    with((0..=3).rev().find(enough).unwrap_or(0))
}

/// Returns the cells of a row that are known before a run: the check and its bound.
fn planned(row: &ComparedFigure) -> String {
    let indent = if row.variant { "variant: " } else { "" };
    let ComparedFigure { group, scheme, figure: what, expected, bound, .. } = row;
    format!("| {group} | {indent}`{scheme}` | {what} | {expected} | {bound} |")
}

fn measured(row: &ComparedFigure) -> String {
    let ours = row.measured.map_or("-".into(), figure);
    let interval = row
        .interval
        .map_or(String::new(), |[low, high]| format!("{} to {}", figure(low), figure(high)));
    format!(" {ours} | {interval} | {} |", row.verdict().words())
}

/// Returns the page as Markdown.
pub fn page(rows: &[ComparedFigure]) -> String {
    let mut text = format!("{HEAD}\n{}\n", Counts::of(rows).words());
    let mut peer = "";
    for row in rows {
        let section = section(&row.peer);
        if section != peer {
            peer = section;
            text += &format!(
                "\n## {peer}\n\n| peer's run | ours | figure | expected | bound | measured | one run \
                 of ours | verdict |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
            );
        }
        text += &format!("{}{}\n", planned(row), measured(row));
    }
    text += "\n## Causes\n";
    for row in rows.iter().filter(|row| !row.variant && !row.reason.is_empty()) {
        text += &format!("\n{}, {}, {}: {}.\n", row.peer, row.group, row.figure, row.reason);
    }
    text + &unexplained(rows) + FOUND
}

/// Returns the summary of the page as Markdown: docs/validation.md.
pub fn summary(rows: &[ComparedFigure]) -> String {
    let mut sections: Vec<(&str, Vec<ComparedFigure>)> = Vec::new();
    for row in rows {
        let name = section(&row.peer);
        match sections.iter_mut().find(|(section, _)| *section == name) {
            Some((_, own)) => own.push(row.clone()),
            None => sections.push((name, vec![row.clone()])),
        }
    }
    let mut table = String::new();
    for (name, own) in sections {
        let Counts { checks, agree, within_spread, explained, differ, unmeasured, .. } =
            Counts::of(&own);
        let IndependentRuns { runs, inside } = IndependentRuns::of(&own);
        table += &format!(
            "| {name} | {checks} | {agree} | {within_spread} | {explained} | {differ} | {unmeasured} | {runs} | {inside} |\n"
        );
    }
    let (runs, whole) = whole_runs(rows);
    format!(
        "{SUMMARY}{} Variants explain figures of {runs} runs; in {whole} of these one variant has all figures of its run \
         within their bounds or spreads.\n\n{SUMMARY_TABLE}{table}{SUMMARY_END}",
        Counts::of(rows).words()
    )
}

const SUMMARY: &str = "# Validation

`paceline validate` compares figures of the simulator with those of *peers*: ns-3, ns-2, htsim, Linux' TCP, the programs
of the schemes' authors, and papers. We stated the bound of each check before its first run. Where we changed a bound
later, the page with every check has both.

";

const SUMMARY_TABLE: &str = "\
| peer | checks | agree | within the spread | explained | differ | not measured | runs | runs with all inside |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

const SUMMARY_END: &str = "
- *Agree*: our figure is within the bound.
- *Within the spread*: our figure is beyond the bound, but the peer's figure lies where one of our runs may lie (of at least three
  runs). The peer's figure is from one run; that of Linux is the mean of two or four runs.
- *Explained*: our figure is beyond the bound, but a variant of ours that copies what the peer does differently is within it.
- *Differ*: our figure is beyond the bound, and no run of ours shows why. The page with every check says what we know of the cause.
- *Runs*: independent runs of the peer. Several windows of one run count as one run, and so do runs with equal figures. *All
  inside*: each figure of the run agrees or is within the spread.

Claims about ABC also run `rcp[variant=abc]`, `vcp[variant=abc]`, `xcp[variant=abc]` and `xcpw`. For these we have no figures of
another program or simulator; [peers](peers.md) compares functions of RCP's and VCP's models in ns-2.

| to | run |
| --- | --- |
| read the page with every check, cause and difference | `make docs`, then `out/docs/validation.md`; or *Documents* in the page of `make site` |
| run the Linux guests again | `paceline validate --guests crates/lab/src/validate/guests.tsv`, then build the program and measure anew |
| measure anew | `paceline validate --traces DIR --tables DIR -o validation.md` |
| keep new figures | `paceline validate --traces DIR --tables DIR -o crates/lab/src/validate/measured.tsv`, then `make docs` |

The measured figures are in `crates/lab/src/validate/measured.tsv`, one line per check. Tests check that they belong to the
program's checks and bounds, and that this summary counts them.
";

/// Lists the differences that no variant explains, run by run.
fn unexplained(rows: &[ComparedFigure]) -> String {
    let mut text = String::from(
        "\n## Differences that no variant explains\n\nNo run here shows their causes; what is known \
         of some stands in the next section.\n",
    );
    let differs = |row: &&ComparedFigure| !row.variant && row.verdict() == Verdict::Differs;
    let mut group = "";
    for row in rows.iter().filter(differs) {
        let ours = row.measured.map_or("-".into(), figure);
        if row.group != group {
            group = &row.group;
            text += &format!("\n- {}, {group}:", row.peer);
        } else {
            text.push(';');
        }
        text += &format!(" {} {ours} for {}", row.figure, row.expected);
    }
    text + "\n"
}

/// Returns the name of a peer in the summary, and the heading above its rows in the page.
pub fn section(peer: &str) -> &'static str {
    match peer {
        "ns-3" => "ns-3 3.37",
        "ns-2" => "ns-2 2.35",
        "htsim" => "htsim",
        peer if peer.starts_with("Bianchi") => "802.11: Bianchi's model",
        peer if peer.contains("flows over 802.11") => "802.11: flows in ns-2",
        peer if peer.contains("802.11") || peer.starts_with("sums of times") => {
            "802.11: saturated stations in ns-2 and ns-3"
        }
        "Linux 6.18" => "Real Linux TCP behind Mahimahi",
        "Linux guests" => "Linux 6.12 over the simulator's links",
        "programs" => "The authors' programs",
        "ABC's authors" => "ABC at a real endpoint",
        _ => "Facts of papers and RFCs",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::validate::read_record;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    fn read(name: &str) -> String {
        let path = root().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    #[test]
    fn the_summary_is_of_the_measured_figures() {
        let rows = read_record(root()).unwrap_or_else(|error| panic!("{error}"));
        assert!(read("docs/validation.md") == summary(&rows), "make it anew: make docs");
        let Counts { checks, agree_as_stated, .. } = Counts::of(&rows);
        let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
        let said =
            format!("Of {checks} checks of schemes with their defaults {agree_as_stated} agree");
        assert!(readme.contains(&said), "README.md does not say: {said}");
    }

    #[test]
    fn the_page_has_a_line_for_each_check_and_each_difference() {
        let rows = read_record(root()).unwrap_or_else(|error| panic!("{error}"));
        let page = page(&rows);
        assert!(page.starts_with(HEAD) && page.ends_with(FOUND));
        let checks = page.lines().filter(|line| line.starts_with("| ")).collect::<Vec<_>>();
        for row in &rows {
            let line = planned(row) + &measured(row);
            assert!(checks.contains(&line.as_str()), "{line}");
        }
        let (_, differences) = page.split_once("## Differences that no variant explains").unwrap();
        for row in rows.iter().filter(|row| !row.variant && row.verdict() == Verdict::Differs) {
            assert!(differences.contains(&row.group), "{}", row.group);
        }
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = [0.0, 0.0634, 0.99996, 1.0, 9.996, 12.34, 99.96, 133.7, -0.5].map(figure);
        assert_eq!(
            shown,
            ["0.000", "0.063", "1.00", "1.00", "10.0", "12.3", "100", "134", "-0.500"]
        );
    }
}
