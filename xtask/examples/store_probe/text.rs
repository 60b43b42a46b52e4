//! Text that looks like years of conversations to an index: few words very often, many words rarely, some Chinese.

use fastrand::Rng;

const SHORTEST: f64 = 150.0;
const LONGEST: f64 = 50_000.0;
/// Of the size's distribution: half the messages are under 350 bytes, the mean is 1.2 kB.
const SKEW: f64 = 0.85;
const WORDS: usize = 30_000;
const HANZI: u32 = 3_000;
/// One message in so many is Chinese in part.
const CHINESE: usize = 12;

/// The most frequent words are real ones, so that searches for them are what users type.
const COMMON: &str = "the of and to in is that for it with as on be this are not you file error from by or test \
                      code can if server run build line data have use key function config type value path docker";

pub struct Text {
    rng: Rng,
    words: Vec<String>,
}

impl Text {
    /// The same text every time.
    pub fn new() -> Self {
        let mut rng = Rng::with_seed(1);
        let mut words: Vec<_> = COMMON.split_whitespace().map(str::to_owned).collect();
        while words.len() < WORDS {
            words.push(word(&mut rng));
        }
        Self { rng, words }
    }

    pub fn message(&mut self) -> String {
        let length = self.length();
        let mut text = String::with_capacity(length + 16);
        let chinese = self.rng.usize(..CHINESE) == 0;
        while text.len() < length {
            if chinese && self.rng.usize(..4) == 0 {
                text.push_str(&self.hanzi(8));
            } else {
                let rank = self.rank(self.words.len());
                text.push_str(&self.words[rank]);
            }
            text.push(if self.rng.usize(..12) == 0 { '\n' } else { ' ' });
        }
        text
    }

    /// From the commonest words to the rarest, alone and in pairs, and Chinese.
    pub fn queries(&mut self, count: usize) -> Vec<String> {
        let query = |at: usize| match at % 5 {
            0 => self.words[at / 5].clone(),
            1 => format!("{} {}", self.words[at], self.words[at * 7]),
            2 => self.words[at * 37].clone(),
            3 => format!("{} {}", self.words[at / 5], self.words[at * 500]),
            _ => self.hanzi(2 + at % 3),
        };
        (0..count).map(query).collect()
    }

    /// Bytes, after a Pareto distribution cut off at both ends.
    fn length(&mut self) -> usize {
        let cut = 1.0 - (SHORTEST / LONGEST).powf(SKEW);
        let share = 1.0 - self.rng.f64() * cut;
        (SHORTEST * share.powf(-1.0 / SKEW)) as usize
    }

    /// As Zipf found: the second is half as frequent as the first, the tenth a tenth.
    fn rank(&mut self, count: usize) -> usize {
        (count as f64).powf(self.rng.f64()) as usize % count
    }

    fn hanzi(&mut self, length: usize) -> String {
        const FIRST: u32 = 0x4E00;
        let ranks = (0..length).map(|_| self.rank(HANZI as usize) as u32);
        ranks
            .filter_map(|rank| char::from_u32(FIRST + rank))
            .collect()
    }
}

fn word(rng: &mut Rng) -> String {
    const HEADS: &[u8] = b"bcdfghjklmnprstvwz";
    const VOWELS: &[u8] = b"aeiou";
    let syllables = rng.usize(2..5);
    let mut letters = Vec::new();
    for _ in 0..syllables {
        letters.push(HEADS[rng.usize(..HEADS.len())]);
        letters.push(VOWELS[rng.usize(..VOWELS.len())]);
    }
    String::from_utf8(letters).unwrap_or_default()
}
