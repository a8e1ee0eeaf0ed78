//! How a setting's text becomes a value, and back.

use std::{net::SocketAddr, time::Duration};

use super::values::{LogFormat, RedisMode, Secret, Seed};

/// A smallest and a largest value, as texts that the field itself can read.
pub(super) type Range = Option<(&'static str, &'static str)>;

/// A value of the configuration that can be set from text.
pub trait Field {
    /// What a value is, for documentation and help.
    fn kind(&self) -> &'static str;

    /// Takes the value of `text`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text. The value is left as it was.
    fn set(&mut self, text: &str, range: Range) -> Result<(), String>;

    /// The text that would set this value, or `<redacted>`.
    fn show(&self) -> String;
}

fn bounded<T: PartialOrd>(text: &str, range: Range, parse: fn(&str) -> Result<T, String>) -> Result<T, String> {
    let value = parse(text)?;
    if let Some((low, high)) = range
        && !(parse(low)? <= value && value <= parse(high)?)
    {
        return Err(format!("{text:?} is not within {low} to {high}"));
    }
    Ok(value)
}

macro_rules! number {
    ($type:ty, $kind:literal) => {
        impl Field for $type {
            fn kind(&self) -> &'static str {
                $kind
            }
            fn set(&mut self, text: &str, range: Range) -> Result<(), String> {
                let parse = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a valid {}", $kind));
                *self = bounded(text, range, parse)?;
                Ok(())
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    };
}

number!(u32, "integer");
number!(f64, "number");

impl Field for Duration {
    fn kind(&self) -> &'static str {
        "duration"
    }
    fn set(&mut self, text: &str, range: Range) -> Result<(), String> {
        let parse = |text: &str| {
            humantime::parse_duration(text)
                .map_err(|_| format!("{text:?} is not a duration; write for example 500ms, 10s or 1h"))
        };
        *self = bounded(text, range, parse)?;
        Ok(())
    }
    fn show(&self) -> String {
        humantime::format_duration(*self).to_string()
    }
}

impl Field for SocketAddr {
    fn kind(&self) -> &'static str {
        "ip:port"
    }
    fn set(&mut self, text: &str, _: Range) -> Result<(), String> {
        *self = text.parse().map_err(|_| format!("{text:?} is not an IP address and port"))?;
        Ok(())
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Field for String {
    fn kind(&self) -> &'static str {
        "text"
    }
    fn set(&mut self, text: &str, _: Range) -> Result<(), String> {
        text.clone_into(self);
        Ok(())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl Field for Option<String> {
    fn kind(&self) -> &'static str {
        "text"
    }
    fn set(&mut self, text: &str, _: Range) -> Result<(), String> {
        *self = (!text.is_empty()).then(|| text.to_owned());
        Ok(())
    }
    fn show(&self) -> String {
        self.clone().unwrap_or_default()
    }
}

impl Field for Secret {
    fn kind(&self) -> &'static str {
        "secret"
    }
    fn set(&mut self, text: &str, _: Range) -> Result<(), String> {
        *self = Self::new(text);
        Ok(())
    }
    fn show(&self) -> String {
        if self.expose().is_some() { format!("{self:?}") } else { String::new() }
    }
}

impl Field for Vec<Seed> {
    fn kind(&self) -> &'static str {
        "host:port,…"
    }
    fn set(&mut self, text: &str, _: Range) -> Result<(), String> {
        *self = text.split(',').map(str::trim).filter(|seed| !seed.is_empty()).map(seed).collect::<Result<_, _>>()?;
        Ok(())
    }
    fn show(&self) -> String {
        self.iter().map(Seed::to_string).collect::<Vec<_>>().join(",")
    }
}

fn seed(text: &str) -> Result<Seed, String> {
    // The whole text is not repeated in the error: it may be a URL with a password in it.
    let malformed = || "a seed is written host:port, without credentials".to_owned();
    let rest = text.strip_prefix("redis://").unwrap_or(text).trim_end_matches('/');
    let (host, port) = rest.rsplit_once(':').ok_or_else(malformed)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().map_err(|_| malformed())?;
    if host.is_empty() || host.contains(['@', '/', '[', ']']) || host.contains(char::is_whitespace) {
        return Err(malformed());
    }
    Ok(Seed { host: host.to_owned(), port })
}

/// A value out of a few with names.
macro_rules! choice {
    ($type:ident { $($variant:ident = $name:literal),+ }, $kind:literal) => {
        impl Field for $type {
            fn kind(&self) -> &'static str {
                $kind
            }
            fn set(&mut self, text: &str, _: Range) -> Result<(), String> {
                *self = match text {
                    $($name => Self::$variant,)+
                    _ => return Err(format!("{text:?} is none of {}", $kind)),
                };
                Ok(())
            }
            fn show(&self) -> String {
                match self {
                    $(Self::$variant => $name,)+
                }
                .to_owned()
            }
        }
    };
}

choice!(RedisMode { Cluster = "cluster", Single = "single" }, "cluster|single");
choice!(LogFormat { Auto = "auto", Text = "text", Json = "json" }, "auto|text|json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_of_its_range_is_refused_and_changes_nothing() {
        let mut value = Duration::from_secs(1);
        assert!(value.set("2h", Some(("1ms", "1h"))).unwrap_err().contains("1ms to 1h"));
        assert!(value.set("soon", Some(("1ms", "1h"))).unwrap_err().contains("not a duration"));
        assert_eq!(value, Duration::from_secs(1));
        value.set("1h", Some(("1ms", "1h"))).unwrap();
        assert_eq!(value.show(), "1h");
        assert!(1.0f64.set("NaN", Some(("0", "1"))).is_err(), "not a number is in no range");
        assert!(1u32.set("-1", None).is_err());
    }

    #[test]
    fn seeds_may_be_names_addresses_and_urls_without_credentials() {
        let mut seeds = Vec::new();
        seeds.set("redis-0.redis:6379, 10.0.0.1:7000,redis://[::1]:7001/", None).unwrap();
        assert_eq!(seeds.show(), "redis-0.redis:6379,10.0.0.1:7000,[::1]:7001");
        for bad in ["redis", "redis:", ":6379", "host:99999", "redis://user:pass@host:6379", "rediss://host:1"] {
            let error = seeds.set(bad, None).unwrap_err();
            assert!(!error.contains("pass"), "{error}");
        }
    }

    #[test]
    fn a_secret_never_shows() {
        let mut secret = Secret::default();
        secret.set("hunter2", None).unwrap();
        assert_eq!((secret.show().as_str(), secret.expose()), ("<redacted>", Some("hunter2")));
        assert!(!format!("{secret:?}").contains("hunter2"));
    }
}
