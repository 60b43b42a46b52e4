//! From a model's window to the numbers compaction works with.

use hermes_types::ModelInfo;

use super::settings::Compaction;

/// Below this a conversation is never too long, and no model is large enough.
const SMALLEST: u64 = 64_000;
/// The most of a small window that is used.
const MOST: f64 = 0.85;
/// Models that want another share of their window than the settings say.
const SHARES: &[(&str, f64)] = &[("trinity-large-thinking", 0.75)];
const LEAST_SUMMARY: u64 = 2_000;
const LONGEST_SUMMARY: u64 = 12_000;

/// All in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// What a request and its reply may have together.
    pub context: u64,
    /// What is left of it for the request.
    pub window: u64,
    /// From here on a conversation is made shorter.
    pub threshold: u64,
    /// How much of its end stays as it is.
    pub tail: u64,
}

impl Numbers {
    pub fn new(model: &str, context: u64, max_output: u64, settings: &Compaction) -> Self {
        // A reply that could fill the window would leave nothing to plan with.
        let window = context - max_output.min(context / 2);
        let share = SHARES
            .iter()
            .find(|(name, _)| model.to_lowercase().contains(name))
            .map_or(settings.threshold, |(_, share)| *share);
        let wanted = part(window, share.clamp(0.05, 0.95)).max(SMALLEST);
        let threshold = if wanted >= window {
            part(window, MOST)
        } else {
            wanted
        };
        let threshold = settings
            .ceiling
            .map_or(threshold, |ceiling| threshold.min(ceiling));
        Self {
            context,
            window,
            threshold,
            tail: part(threshold, settings.target_ratio.clamp(0.10, 0.80)),
        }
    }

    /// How long the summary of this much may be.
    pub fn summary(&self, summarised: u64) -> u64 {
        let most = (self.context / 20).clamp(LEAST_SUMMARY, LONGEST_SUMMARY);
        (summarised / 5).clamp(LEAST_SUMMARY, most)
    }
}

fn part(whole: u64, share: f64) -> u64 {
    (whole as f64 * share) as u64
}

/// Whether the side model can do its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feasibility {
    Fine,
    /// It cannot read as much as the main model; where compaction begins now, and what its owner is told.
    Lowered(u64, String),
    /// It is too small; what to do about it.
    Refused(String),
}

impl Feasibility {
    /// Looked at once, when a session opens.
    pub fn of(main: &ModelInfo, side: &ModelInfo, settings: &Compaction) -> Self {
        let window = settings.side_window.unwrap_or(side.context_length);
        let same = (&main.model, &main.base_url) == (&side.model, &side.base_url);
        if !settings.enabled || same && settings.side_window.is_none() {
            return Self::Fine;
        }
        let name = &side.model;
        if window < SMALLEST {
            return Self::Refused(format!(
                "auxiliary.compression: the model {name} takes {window} tokens at a time; summaries need at least \
                 64,000. Choose another one with `hermes config set auxiliary.compression.model <name>`, or, if the \
                 number is wrong, set auxiliary.compression.context_length"
            ));
        }
        let numbers = Numbers::new(&main.model, main.context_length, 0, settings);
        if window < numbers.threshold {
            return Self::Lowered(
                window,
                format!(
                    "the model for summaries ({name}) takes {window} tokens: conversations are compacted from there \
                     on, not from {}",
                    numbers.threshold
                ),
            );
        }
        Self::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(model: &str, context_length: u64) -> ModelInfo {
        ModelInfo {
            provider: "p".to_owned(),
            model: model.to_owned(),
            base_url: "u".to_owned(),
            context_length,
        }
    }

    #[test]
    fn the_window_decides() {
        let check = |model: &str, context, max_output, expected: (u64, u64)| {
            let numbers = Numbers::new(model, context, max_output, &Compaction::default());
            assert_eq!(
                (numbers.threshold, numbers.tail),
                expected,
                "{model} {context}"
            );
        };
        check("m", 200_000, 0, (100_000, 20_000));
        check("m", 200_000, 40_000, (80_000, 16_000));
        check("m", 100_000, 0, (64_000, 12_800));
        check("m", 70_000, 8_000, (52_700, 10_540));
        check("m", 64_000, 0, (54_400, 10_880));
        check("m", 8_000, 32_000, (3_400, 680));
        check(
            "arcee/Trinity-Large-Thinking",
            200_000,
            0,
            (150_000, 30_000),
        );
    }

    #[test]
    fn a_summary_is_a_fifth_within_bounds() {
        let numbers = Numbers::new("m", 200_000, 0, &Compaction::default());
        assert_eq!(
            [0, 30_000, 1_000_000].map(|n| numbers.summary(n)),
            [2_000, 6_000, 10_000]
        );
        let small = Numbers::new("m", 8_000, 0, &Compaction::default());
        assert_eq!(small.summary(1_000_000), 2_000);
    }

    #[test]
    fn a_small_side_model_is_refused_or_begins_earlier() {
        let settings = Compaction::default();
        let main = info("main", 400_000);
        let check =
            |side: ModelInfo, settings: &Compaction| Feasibility::of(&main, &side, settings);
        assert_eq!(check(info("main", 32_000), &settings), Feasibility::Fine);
        assert_eq!(check(info("side", 400_000), &settings), Feasibility::Fine);
        assert!(matches!(
            check(info("side", 100_000), &settings),
            Feasibility::Lowered(100_000, _)
        ));
        let refused = check(info("side", 32_000), &settings);
        assert!(matches!(&refused, Feasibility::Refused(told) if told.contains("64,000")));
        let known = Compaction {
            side_window: Some(250_000),
            ..settings.clone()
        };
        assert_eq!(check(info("side", 32_000), &known), Feasibility::Fine);
        let off = Compaction {
            enabled: false,
            ..settings
        };
        assert_eq!(check(info("side", 32_000), &off), Feasibility::Fine);
    }

    #[test]
    fn the_ceiling_lowers_the_threshold() {
        let settings = Compaction {
            ceiling: Some(80_000),
            ..Compaction::default()
        };
        assert_eq!(Numbers::new("m", 400_000, 0, &settings).threshold, 80_000);
    }
}
