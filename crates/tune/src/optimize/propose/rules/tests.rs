//! What the rules write, whether it compiles, and where they make no proposal.

use super::*;
use crate::optimize::guard;

fn made(text: &str, choice: &Choice) -> Vec<Proposal> {
    let source = Source::parse(text).unwrap();
    let kernel = source.kernels().remove(0);
    let evidence = Evidence { workgroup: Some(256), ..Evidence::default() };
    let build = ["hipcc".to_string(), "-O3".into(), "k.cu".into()];
    let site =
        Site { source: &source, kernel: &kernel, evidence: &evidence, choice, build: &build, flags: &[] };
    let made = proposals(&site);
    for proposal in made.iter().filter(|one| one.flags.is_empty()) {
        let verdict = guard::check(&source, &kernel, &proposal.text, proposal.header);
        assert_eq!(verdict, Ok(()), "{}\n{}", proposal.description, proposal.text);
    }
    made
}

fn by(rule: &str, text: &str) -> Vec<Proposal> {
    made(text, &Choice { names: vec![rule.into()], flags: true, fast_math: true })
}

/// A kernel with something for every rule: loops, a tile, pointers of all kinds, functions.
const ALL: &str = "#define ROW 32
__global__ void all(const float* __restrict__ x, const float* y, const int* once, float* out, int n) {
  __shared__ float tile[32][ROW];
  int t = threadIdx.x, row = blockIdx.x;
  tile[t / 32][t % 32] = y[t];
  __syncthreads();
  float sum = tile[t % 32][t / 32];
  for (int k = 0; k < n; ++k) {
    sum += x[row * n + k] * expf(y[k]);
  }
  out[row * 1024 + t] = sum + once[t];
}
";

#[test]
fn what_each_rule_writes() {
    let all = made(ALL, &Choice { flags: true, fast_math: true, ..Choice::default() });
    let shown = all.iter().map(|one| {
        let flags = if one.flags.is_empty() { String::new() } else { format!(" [{}]", one.flags.join(" ")) };
        format!("{}: {}{flags}\n{}", one.origin, one.description, changed_lines(&one.text))
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    let vectorised = by("vectorised_loads", ALL).remove(0).text;
    insta::assert_snapshot!("a_vectorised_loop", vectorised);
    for rule in RULES {
        assert!(all.iter().any(|one| one.origin == format!("rule {}", rule.name)), "{} is shown", rule.name);
    }
}

/// The lines that a proposal changes or adds.
fn changed_lines(text: &str) -> String {
    text.lines()
        .filter(|line| !ALL.lines().any(|old| old == *line))
        .map(|line| format!("  {line}\n"))
        .collect()
}

#[test]
fn nothing_is_done_without_permission() {
    let plain = made(ALL, &Choice::default());
    assert!(plain.iter().all(|one| one.flags.is_empty() && one.origin != "rule fast_math"));
    let flags = made(ALL, &Choice { flags: true, ..Choice::default() });
    assert!(flags.iter().any(|one| !one.flags.is_empty()));
    assert!(flags.iter().all(|one| !one.flags.iter().any(|flag| flag.contains("fast-math"))));
    assert!(by("compile_flags", ALL).iter().all(|one| one.flags != ["-O3"]), "the build has it already");
}

#[test]
fn a_loop_is_not_offered_the_factor_it_has() {
    let factors = |text: &str| by("unroll", text).into_iter().map(|one| one.key).collect::<Vec<_>>();
    let plain = "__global__ void k(float* x, int n) {\n  for (int i = 0; i < n; ++i) x[i] += 1;\n}\n";
    let before = factors(plain);
    assert_eq!(before.len(), 3);
    let unrolled = &by("unroll", plain)[1].text;
    assert!(unrolled.contains("#pragma unroll 4"), "{unrolled}");
    // The line has moved, but the loop is the same: 4 is done, 2 and 8 keep their names.
    assert_eq!(factors(unrolled), [before[0].clone(), before[2].clone()]);
    let twice = "__global__ void k(float* x, int n) {\n  for (int i = 0; i < n; ++i) x[i] += 1;\n  for (int i = 0; i < n; ++i) x[i] += 2;\n}\n";
    let keys = factors(twice);
    assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "{keys:?}");
}

fn kernel(arguments: &str, body: &str) -> String {
    format!("__global__ void k({arguments}) {{\n  {body}\n}}\n")
}

#[test]
fn loads_are_vectorised_only_where_nothing_can_go_wrong() {
    let offered = |arguments: &str, body: &str| by("vectorised_loads", &kernel(arguments, body)).len();
    let plain = "const float* x, float* y, int n";
    let sum = |load: &str| {
        format!("float s = 0; for (int i = 0; i < n; ++i) {{ s += {load}; }} y[threadIdx.x] = s;")
    };
    for load in ["x[i]", "x[i + 1]", "x[n * threadIdx.x + i]", "(x[i] > 0 ? 1 : 2)", "fmaf(x[i], x[i], 1)"] {
        assert_eq!(offered(plain, &sum(load)), 1, "{load}");
    }
    let never = [
        ("x[2 * i]", "a stride"),
        ("x[n - i]", "backwards"),
        ("x[i % 4]", "around"),
        ("(i > 3 ? x[i] : 0)", "conditional, maybe beyond the end"),
        ("(n > 3 && x[i] > 0)", "conditional by a short cut"),
        ("other(x[i])", "an unknown call"),
        ("(&x[i])[0]", "an address"),
        ("x[(int)y[n]]", "always the same"),
    ];
    for (load, why) in never {
        assert_eq!(offered(plain, &sum(load)), 0, "{why}: {load}");
    }
    assert_eq!(offered("const volatile float* x, float* y, int n", &sum("x[i]")), 0, "volatile");
    assert_eq!(offered("const short* x, float* y, int n", &sum("x[i]")), 0, "no vector of that type");
    assert_eq!(offered("const double* x, float* y, int n", &sum("x[i]")), 1);
    let copy = "for (int i = 0; i < n; ++i) y[i] = x[i];";
    assert_eq!(offered(plain, copy), 0, "the store may reach what is read");
    assert_eq!(offered("const float* __restrict__ x, float* y, int n", copy), 1);
    assert_eq!(offered("float* __restrict__ x, float* y, int n", copy), 0, "not constant");
    for (body, why) in [
        (
            "float s = 0; for (int i = 0; i < n; ++i) { if (s > 9) break; s += x[i]; } y[0] = s;",
            "it may stop early",
        ),
        ("float s = 0; for (int i = 0; i < n; ++i) { s += x[i]; __syncthreads(); } y[0] = s;", "a barrier"),
        ("float s = 0; for (int i = 0; i < n; ++i) { s += x[i]; n -= 1; } y[0] = s;", "the end moves"),
        ("float s = 0; for (int i = 0; i < n; ++i) { s += x[i]; ++i; } y[0] = s;", "the counter moves"),
        ("float s = 0; for (int i = 0; i < n; ++i) { s += x[i]; x = y; } y[0] = s;", "the pointer moves"),
        ("float s = 0; for (int i = 0; i < n; i += 2) { s += x[i]; } y[0] = s;", "not every element"),
        ("float s = 0; for (int i = n; i > 0; --i) { s += x[i]; } y[0] = s;", "backwards"),
        (
            "float s = 0;\n#pragma unroll 2\nfor (int i = 0; i < n; ++i) { s += x[i]; } y[0] = s;",
            "a pragma needs its loop",
        ),
        (
            "float* x = y; float s = 0; for (int i = 0; i < n; ++i) { s += x[i]; } y[0] = s;",
            "another pointer of that name",
        ),
    ] {
        assert_eq!(offered(plain, body), 0, "{why}");
    }
    let hidden = format!(
        "#define STOP break\n{}",
        kernel(plain, "float s = 0; for (int i = 0; i < n; ++i) { s += x[i]; STOP; } y[0] = s;")
    );
    assert_eq!(by("vectorised_loads", &hidden).len(), 0, "a macro may be anything");
    let once = by("vectorised_loads", &kernel(plain, &sum("x[i]"))).remove(0).text;
    assert_eq!(by("vectorised_loads", &once).len(), 0, "done already:\n{once}");
}

#[test]
fn tiles_are_padded_only_where_nobody_knows_how_long_a_row_is() {
    let offered = |body: &str| by("lds_padding", &kernel("float* x", body)).len();
    let tile = |declared: &str, used: &str| {
        format!("__shared__ float {declared};\n  int t = threadIdx.x;\n  {used}")
    };
    for (declared, used) in [
        ("tile[32][32]", "tile[t][0] = x[t]; x[t] = tile[0 + t][t];"),
        ("tile[8][64]", "x[t] = tile[t][t] + sizeof(float);"),
        ("tile[32][32]", "atomicAdd(&tile[t][1], 1.0f);"),
    ] {
        assert_eq!(offered(&tile(declared, used)), 1, "{declared} {used}");
    }
    for (declared, used, why) in [
        ("tile[32][31]", "x[t] = tile[t][t];", "no multiple of the banks"),
        ("tile[32]", "x[t] = tile[t];", "one dimension"),
        ("tile[2][32][32]", "x[t] = tile[t][t][t];", "three dimensions"),
        ("tile[32][32]", "x[t] = (&tile[0][0])[t];", "an address"),
        ("tile[32][32]", "float* p = tile[t]; x[t] = p[33];", "a row as a pointer"),
        ("tile[32][32]", "x[t] = sizeof(tile);", "its size"),
        ("tile[32][32]", "x[t] = tile[0][t];", "all of it through the first row"),
        ("tile[32][32]", "use(tile);", "handed on"),
        ("tile[32][32]", "x[t] = ((float*)tile)[t];", "a cast"),
    ] {
        assert_eq!(offered(&tile(declared, used)), 0, "{why}: {used}");
    }
    let hidden =
        format!("#define AT(i) tile[0][i]\n{}", kernel("float* x", &tile("tile[32][32]", "x[t] = AT(t);")));
    assert_eq!(by("lds_padding", &hidden).len(), 0, "a macro uses it");
}

#[test]
fn caches_are_left_aside_only_for_plain_numbers_read_once() {
    let offered = |rule: &str, arguments: &str, body: &str| by(rule, &kernel(arguments, body)).len();
    let plain = "const float* x, float* y, int n";
    assert_eq!(offered("nontemporal_load", plain, "y[n] = x[n];"), 1);
    for (arguments, body, why) in [
        ("float* x, float* y, int n", "y[n] = x[n];", "it may be written"),
        ("const half* x, float* y, int n", "y[n] = x[n];", "a structure"),
        ("const volatile float* x, float* y, int n", "y[n] = x[n];", "volatile"),
        (plain, "y[n] = x[n] + x[n + 1];", "read twice"),
        (plain, "for (int i = 0; i < n; ++i) y[n] += x[i];", "in a loop"),
        (plain, "const float* p = &x[n]; y[n] = *p;", "an address"),
    ] {
        assert_eq!(offered("nontemporal_load", arguments, body), 0, "{why}");
    }
    assert_eq!(offered("nontemporal_store", plain, "y[n] = x[n];"), 1);
    for (body, why) in [
        ("y[n] = x[n]; y[n + 1] = y[n];", "read again"),
        ("y[n] += x[n];", "read by itself"),
        ("float* p = y; y[n] = x[n];", "known by another name"),
    ] {
        assert_eq!(offered("nontemporal_store", plain, body), 0, "{why}");
    }
}
