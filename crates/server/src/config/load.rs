//! Merges the sources of the configuration and gathers what is wrong with them.

use std::{ffi::OsString, fmt, fs, path::Path};

use super::{Config, Flags, Mode, SETTINGS, Setting, check};

/// Starts the name of every environment variable of ours.
pub(super) const ENV_PREFIX: &str = "SOCIALGRAPH_";

/// Names the configuration file.
const ENV_CONFIG: &str = "SOCIALGRAPH_CONFIG";

/// Variables that are not settings. The client commands read the endpoints.
const KNOWN_ENV: [&str; 3] = [ENV_CONFIG, "SOCIALGRAPH_ENDPOINT", "SOCIALGRAPH_ADMIN_ENDPOINT"];

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a flag, a variable, a key of the file, or a key alone where several values together are wrong.
    pub source: String,
    /// What.
    pub what: String,
}

/// Everything that is wrong with the configuration.
#[derive(Debug, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration has {} problem(s):", self.0.len())?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {}: {}", problem.source, problem.what))
    }
}

/// The configuration out of flags, environment, file and defaults.
///
/// # Errors
///
/// Every bad value in any source, also one that a stronger source overrides; unknown keys and variables; values that
/// don't go together.
pub fn load(
    mode: Mode,
    flags: &Flags,
    env: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, Problems> {
    let mut loader = Loader { config: Config::blank(), problems: Vec::new() };
    loader.defaults(mode);
    let env = loader.own_env(env);
    let file_in_env = env.iter().find(|(name, _)| name == ENV_CONFIG).map(|(_, path)| Path::new(path));
    if let Some(path) = flags.file.as_deref().or(file_in_env) {
        loader.file(path);
    }
    loader.env(&env);
    loader.flags(flags);
    let Loader { config, mut problems } = loader;
    problems.extend(check::relations(&config, mode));
    if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
}

struct Loader {
    config: Config,
    problems: Vec<Problem>,
}

impl Loader {
    fn problem(&mut self, source: String, what: impl Into<String>) {
        self.problems.push(Problem { source, what: what.into() });
    }

    fn set(&mut self, setting: &Setting, text: &str, source: impl FnOnce() -> String) {
        if let Err(what) = setting.set(&mut self.config, text) {
            self.problem(source(), what);
        }
    }

    fn defaults(&mut self, mode: Mode) {
        for setting in SETTINGS {
            let text = setting.dev_default.filter(|_| mode == Mode::Dev).unwrap_or(setting.default);
            self.set(setting, text, || format!("default of {}", setting.key));
        }
    }

    fn file(&mut self, path: &Path) {
        let at = |key: &str| format!("file {}, key {key}", path.display());
        let table = match read(path) {
            Ok(table) => table,
            Err(what) => return self.problem(format!("file {}", path.display()), what),
        };
        for (key, value) in flatten(table) {
            match (SETTINGS.iter().find(|setting| setting.key == key), text(&value)) {
                (None, _) => self.problem(at(&key), "unknown"),
                (Some(_), None) => self.problem(at(&key), format!("a {} is no value of a setting", value.type_str())),
                (Some(setting), Some(text)) => self.set(setting, &text, || at(&key)),
            }
        }
    }

    /// The variables that are ours, as UTF-8.
    fn own_env(&mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
        let mut own = Vec::new();
        for (name, value) in env {
            let Some(name) = name.to_str().filter(|name| name.starts_with(ENV_PREFIX)) else { continue };
            match value.into_string() {
                Ok(value) => own.push((name.to_owned(), value)),
                Err(_) => self.problem(format!("environment variable {name}"), "is not UTF-8"),
            }
        }
        own.sort();
        own
    }

    fn env(&mut self, env: &[(String, String)]) {
        for (name, value) in env {
            let source = || format!("environment variable {name}");
            match SETTINGS.iter().find(|setting| setting.env() == *name) {
                Some(setting) => self.set(setting, value, source),
                None if KNOWN_ENV.contains(&name.as_str()) || is_service_link(name) => {}
                None => self.problem(source(), "unknown"),
            }
        }
    }

    fn flags(&mut self, flags: &Flags) {
        for (key, text) in &flags.values {
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == *key) {
                self.set(setting, text, || format!("flag --{}", setting.flag()));
            }
        }
    }
}

/// Kubernetes sets such variables in every pod next to a Service called `socialgraph` or `socialgraph-…`, such as
/// `SOCIALGRAPH_SERVICE_HOST` and `SOCIALGRAPH_PORT_50051_TCP_ADDR`; they are not ours.
fn is_service_link(name: &str) -> bool {
    let after = |mark: &str| name.split_once(mark).map(|(_, rest)| rest);
    name.ends_with("_SERVICE_HOST")
        || after("_SERVICE_PORT").is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        || after("_PORT").is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix('_').is_some_and(|rest| {
                    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                    ["_TCP", "_UDP", "_SCTP"].iter().any(|protocol| rest.starts_with(protocol))
                })
        })
}

fn read(path: &Path) -> Result<toml::Table, String> {
    let content = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    content.parse().map_err(|error: toml::de::Error| {
        // Not the error's own text: it quotes the line, which may hold a secret.
        let line = error.span().map_or(0, |span| content[..span.start].matches('\n').count() + 1);
        format!("is not TOML, line {line}: {}", error.message())
    })
}

/// Dotted keys and their values. An unknown table comes as one entry.
fn flatten(table: toml::Table) -> Vec<(String, toml::Value)> {
    let mut entries = Vec::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(section) if SETTINGS.iter().any(|setting| setting.section() == name) => {
                entries.extend(section.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            value @ (toml::Value::Table(_)
            | toml::Value::Array(_)
            | toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)) => entries.push((name, value)),
        }
    }
    entries
}

/// The value as the text that a flag would give.
fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        toml::Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(text).collect();
            Some(texts?.join(","))
        }
        toml::Value::Table(_) | toml::Value::Datetime(_) => None,
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
