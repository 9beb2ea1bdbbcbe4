//! The browser on a simulated run, in a terminal of 110 columns.

use app::panels::PanelsOptions;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use trace::{CounterColumn, Kernel, LaunchShape, Process, Source, Trace};

use super::state::State;
use super::view::draw;

/// Two kernels, a few counters, a gfx90a.
fn run(scale: f64) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("workload", "rocprof-compute"));
    let process = trace.add_process(Process::new(source, 1));
    let facts = [
        ("gpu_arch", "gfx90a"),
        ("cu_per_gpu", "104"),
        ("num_xcd", "1"),
        ("max_sclk", "1700"),
        ("max_mclk", "1600"),
        ("num_hbm_channels", "32"),
        ("total_l2_chan", "32"),
        ("sqc_per_gpu", "56"),
        ("lds_banks_per_cu", "32"),
    ];
    for (key, value) in facts {
        trace.add_metadata(source, &format!("sysinfo.{key}"), value);
    }
    let shape = trace.shapes.intern(LaunchShape {
        grid: Some([4096, 1, 1]),
        workgroup: Some([256, 1, 1]),
        ..Default::default()
    });
    for (name, start, end) in
        [("gemm(float*)", 0, 900), ("copy(float*)", 1000, 1100), ("gemm(float*)", 2000, 2900)]
    {
        let name = trace.strings.intern(name);
        trace.kernels.push(Kernel { name, start, end, process, shape, ..Kernel::default() });
    }
    let counters = [
        ("SQ_INSTS_LDS", [100.0, 0.0, 300.0]),
        ("SQ_INSTS_SALU", [10.0, 20.0, 30.0]),
        ("SQ_INSTS_SMEM", [1.0, 2.0, 3.0]),
        ("SQ_INSTS_BRANCH", [5.0, 5.0, 5.0]),
        ("SQ_WAVES", [64.0, 16.0, 64.0]),
    ];
    for (name, values) in counters {
        let counter = trace.strings.intern(name);
        let values = values.iter().map(|value| value * scale).collect();
        trace.counter_columns.columns.push(CounterColumn { counter, values, ..Default::default() });
    }
    trace.finish();
    trace
}

fn screen(state: &mut State<'_>) -> String {
    screen_of(state, 110)
}

fn screen_of(state: &mut State<'_>, columns: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, 24)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

fn press(state: &mut State<'_>, keys: &[KeyCode]) -> bool {
    keys.iter().any(|&key| state.press(KeyEvent::new(key, KeyModifiers::NONE)))
}

/// Goes to the table of this number.
fn go_to(state: &mut State<'_>, panel: u32, table: u32) {
    press(state, &[KeyCode::Tab]);
    let place = state.tables.iter().position(|entry| (entry.panel, entry.table) == (panel, table)).unwrap();
    press(state, &vec![KeyCode::Down; place]);
}

#[test]
fn kernels_and_tables_are_browsed() {
    let runs = [run(1.0)];
    let mut state = State::new(&runs, PanelsOptions::default());
    go_to(&mut state, 10, 1);
    insta::assert_snapshot!("all_kernels", screen(&mut state));
    // The second kernel, by wave, with the first missing metric's reason below.
    press(&mut state, &[KeyCode::BackTab, KeyCode::Down, KeyCode::Down, KeyCode::Char('n')]);
    insta::assert_snapshot!("one_kernel_per_wave", screen(&mut state));
    assert!(press(&mut state, &[KeyCode::Char('q')]), "q leaves");
}

#[test]
fn sixty_columns_cut_the_names_of_metrics() {
    let runs = [run(1.0)];
    let mut state = State::new(&runs, PanelsOptions::default());
    go_to(&mut state, 10, 1);
    let shown = screen_of(&mut state, 60);
    for name in state.shown.as_ref().unwrap().rows.iter().map(|row| &row.metric) {
        assert!(shown.contains(name.as_str()), "{name} is not whole:\n{shown}");
    }
    assert!(shown.contains("q quit"), "{shown}");
}

#[test]
fn names_are_filtered() {
    let runs = [run(1.0)];
    let mut state = State::new(&runs, PanelsOptions::default());
    go_to(&mut state, 10, 1);
    press(&mut state, &[KeyCode::Char('/'), KeyCode::Char('s'), KeyCode::Char('m')]);
    assert_eq!(state.shown_metrics().len(), 1, "SMEM");
    assert_eq!(state.shown_kernels().len(), 3, "no kernel is meant");
    assert!(screen(&mut state).contains("filter: sm"));
    assert!(!press(&mut state, &[KeyCode::Esc]), "escape clears the filter first");
    assert_eq!(state.shown_metrics().len(), 7);
    press(
        &mut state,
        &[KeyCode::Char('/'), KeyCode::Char('g'), KeyCode::Char('e'), KeyCode::Char('m'), KeyCode::Enter],
    );
    assert_eq!(state.shown_kernels().len(), 1);
    assert_eq!(state.shown.as_ref().unwrap().rows[2].cells[0], Ok(200.0), "the mean of gemm's dispatches");
}

#[test]
fn kernels_and_runs_are_compared() {
    let runs = [run(1.0)];
    let mut state = State::new(&runs, PanelsOptions::default());
    go_to(&mut state, 10, 1);
    press(&mut state, &[KeyCode::BackTab, KeyCode::Down, KeyCode::Char('c'), KeyCode::Down]);
    insta::assert_snapshot!("against_a_kernel", screen(&mut state));
    let runs = [run(1.0), run(2.0)];
    let mut state = State::new(&runs, PanelsOptions::default());
    go_to(&mut state, 10, 1);
    assert!(screen(&mut state).contains("+100.0 %"), "the second run has twice as many");
}
