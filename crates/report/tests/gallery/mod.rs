//! One chart of every mark, with realistic names and numbers.

#![allow(dead_code)]

use rocm_perf_report::Unit;
use rocm_perf_report::chart::*;

const NAMES: [&str; 6] = [
    "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB0_AFC1_AFEM1_ISA942",
    "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, __hip_bfloat16, 128, 16, 128>",
    "ncclDevKernel_Generic_4",
    "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3",
    "Memcpy DtoH & \"pinned\" <fast>",
    "rms_norm",
];

/// All charts.
pub fn gallery() -> Vec<Chart> {
    let axes = |chart: Chart| chart.with_description("What is seen, and how to read it in a sentence.");
    [
        bars(),
        stacked(),
        columns(),
        grouped(),
        lanes(),
        histogram(),
        roofline(),
        lines(),
        waterfall(),
        drawing(),
        heat(),
    ]
    .into_iter()
    .map(axes)
    .collect()
}

fn heat() -> Chart {
    let value =
        |rank: usize, step: usize| (rank * step % 7 != 3).then_some((rank * 13 + step * 5) as f64 % 11.0);
    let heat = Heat {
        rows: (0..12).map(|rank| format!("rank {rank}")).collect(),
        columns: (0..30).map(|step| step.to_string()).collect(),
        values: (0..12).map(|rank| (0..30).map(|step| value(rank, step)).collect()).collect(),
        unit: Unit::Pct,
        low: 0.0,
        high: 10.0,
    };
    Chart::new("step_times", "Steps by rank", Mark::Heat(heat)).with_x(Axis::default().labelled("step"))
}

fn bars() -> Chart {
    let bar = |(i, name): (usize, &&str)| {
        let value = 4.2e7 / (i as f64 + 1.0).powi(2);
        Bar::new(name, vec![value]).with_tip(format!("{name}\n{value} ns")).with_ink(Ink::Series(i))
    };
    let series = vec![Series::new("time", 0)];
    let bars = Bars { series, bars: NAMES.iter().enumerate().map(bar).collect(), ..Bars::across() };
    Chart::new("kernel_share", "Kernels by time", Mark::Bars(bars)).with_x(Axis::of(Unit::Ns))
}

fn series() -> Vec<Series> {
    vec![
        Series::new("gemm", 0),
        Series::new("attention", 1),
        Series::new("communication", 2),
        Series::rest("other"),
    ]
}

fn stacked() -> Chart {
    let bar = |rank: usize| {
        let parts = vec![3.0e6 + rank as f64 * 1e5, 2.0e6, 8.0e5 * rank as f64, 4.0e5];
        Bar::new(&format!("rank {rank}"), parts).with_end(format!("{rank}0.5 ms idle"))
    };
    let bars = Bars { series: series(), bars: (0..5).map(bar).collect(), ..Bars::across() };
    let x = Axis::of(Unit::Ns).labelled("GPU time");
    Chart::new("ranks", "GPU time by rank", Mark::Bars(bars)).with_x(x)
}

fn columns() -> Chart {
    let bar = |(i, name): (usize, &&str)| Bar::new(name, vec![9e3 * (i + 1) as f64, 4e3, 2e3, 100.0]);
    let bars =
        Bars { series: series(), bars: NAMES.iter().enumerate().map(bar).collect(), ..Bars::upwards() };
    let y = Axis::default().labelled("calls");
    Chart::new("columns", "Calls by kernel", Mark::Bars(bars)).with_y(y)
}

fn grouped() -> Chart {
    let bar = |stage: &str| Bar::new(stage, vec![12.0, 70.0, 18.0, 4.0]);
    let bars = ["prefill", "decode"].map(bar).to_vec();
    let bars = Bars { series: series(), bars, grouped: true, ..Bars::upwards() };
    Chart::new("grouped", "Shares by stage", Mark::Bars(bars)).with_y(Axis::of(Unit::Pct).between(0.0, 100.0))
}

fn lanes() -> Chart {
    let lane = |number: usize| {
        let spans = (0..40).map(|i| {
            let start = i as f64 * 5e5 + number as f64 * 7e4;
            let mut span = Span::new(start, start + 3e5, (i + number) % 4);
            span.height = 0.3 + 0.7 * ((i * 13 % 10) as f64 / 10.0);
            span.tip = format!("span {i}");
            span
        });
        Lane { label: format!("rank {number}, agent {number}"), spans: spans.collect() }
    };
    let lanes = Lanes { series: series(), lanes: (0..4).map(lane).collect() };
    let x = Axis::of(Unit::Ns).labelled("time since the first event");
    Chart::new("timeline", "GPU timeline", Mark::Lanes(lanes)).with_x(x)
}

fn histogram() -> Chart {
    let bin = |i: i32| {
        let low = 500.0 * 1.5f64.powi(i);
        let middle = f64::from(i - 9).abs();
        let values = vec![900.0 / (1.0 + middle), 500.0 / (1.0 + middle), f64::from(i), 0.0];
        Bin { low, high: low * 1.5, values, tip: format!("bin {i}") }
    };
    let histogram = Histogram { series: series(), bins: (0..22).map(bin).collect() };
    Chart::new("durations", "Kernel durations", Mark::Histogram(histogram))
        .with_x(Axis::log(Unit::Ns).labelled("duration"))
        .with_y(Axis::default().labelled("calls"))
}

fn roofline() -> Chart {
    let point = |(i, name): (usize, &&str)| {
        let x = 0.3 * 4f64.powi(i as i32);
        let y = (5300.0 * x).min(1_300_000.0) * (0.2 + 0.1 * i as f64);
        Point { x, y, weight: Some(1.0 / (i + 1) as f64), label: (*name).into(), tip: (*name).into() }
    };
    let points: Vec<Point> = NAMES.iter().enumerate().map(point).collect();
    let roof = |label: &str, points: Vec<(f64, f64)>, dashed| Reference {
        label: label.into(),
        points,
        ink: Ink::Muted,
        dashed,
    };
    let references = vec![
        roof("HBM 5.3 TB/s", vec![(1e-4, 0.53), (246.0, 1_300_000.0)], false),
        roof("MFMA BF16 1307 TFLOP/s", vec![(246.0, 1_307_400.0), (1e5, 1_307_400.0)], false),
        roof("VALU FP32 163 TFLOP/s", vec![(30.8, 163_400.0), (1e5, 163_400.0)], true),
        roof("L2 17 TB/s", vec![(1e-4, 1.7), (76.0, 1_300_000.0)], true),
    ];
    let kernels = XySeries { series: Series::new("kernels", 0), join: Join::Points, points };
    Chart::new("roofline", "Roofline", Mark::Xy(Xy { series: vec![kernels], references }))
        .with_x(Axis::log(Unit::None).labelled("arithmetic intensity (FLOP/byte)").between(0.05, 5000.0))
        .with_y(Axis::log(Unit::None).labelled("GFLOP/s"))
}

fn lines() -> Chart {
    let curve = |(number, join): (usize, Join)| {
        let points = (0..50).map(|i| {
            let x = f64::from(i) * 2e7;
            let y = 6e10 + 3e10 * (f64::from(i) / (5.0 + number as f64)).sin() - 1e10 * number as f64;
            Point { x, y, tip: format!("{i}"), ..Point::default() }
        });
        XySeries { series: Series::new(&format!("GPU {number}"), number), join, points: points.collect() }
    };
    let series = [Join::Area, Join::Line, Join::Steps].into_iter().enumerate().map(curve).collect();
    let limit = Reference {
        label: "capacity 96 GB".into(),
        points: vec![(0.0, 9.6e10), (1e9, 9.6e10)],
        ink: Ink::Bad,
        dashed: true,
    };
    Chart::new("memory", "Memory in use", Mark::Xy(Xy { series, references: vec![limit] }))
        .with_x(Axis::of(Unit::Ns).labelled("time"))
        .with_y(Axis::of(Unit::Bytes))
}

fn waterfall() -> Chart {
    let step = |label: &str, value, total| Step { label: label.into(), value, total, tip: String::new() };
    let steps = vec![
        step("base", 1.2e9, true),
        step(NAMES[0], 9e7, false),
        step(NAMES[1], -4e7, false),
        step("idle", 2.2e7, false),
        step("candidate", 1.272e9, true),
    ];
    Chart::new("waterfall", "From base to candidate", Mark::Waterfall(steps)).with_x(Axis::of(Unit::Ns))
}

fn drawing() -> Chart {
    let block = |x: f64, text: &str, ink| {
        let shape = Shape::Box {
            x,
            y: 20.0,
            width: 120.0,
            height: 50.0,
            radius: 4.0,
            fill: Ink::Raised,
            border: Some(ink),
            tip: text.into(),
        };
        let words = Shape::Words {
            x: x + 60.0,
            y: 49.0,
            text: text.into(),
            size: 12.0,
            anchor: Anchor::Middle,
            bold: true,
            ink: Ink::Text,
            room: 110.0,
        };
        [shape, words]
    };
    let arrow = |x: f64| Shape::Line {
        points: vec![(x, 45.0), (x + 60.0, 45.0)],
        ink: Ink::Axis,
        thickness: 1.5,
        dashed: false,
        arrow: true,
    };
    let mut shapes = Vec::new();
    shapes.extend(block(20.0, "L1 (TCP)", Ink::Series(0)));
    shapes.push(arrow(140.0));
    shapes.extend(block(200.0, "L2 (TCC)", Ink::Series(1)));
    shapes.push(arrow(320.0));
    shapes.extend(block(380.0, "HBM", Ink::Series(2)));
    Chart::new("memory_chart", "Memory chart", Mark::Drawing(Drawing { width: 520.0, height: 90.0, shapes }))
}
