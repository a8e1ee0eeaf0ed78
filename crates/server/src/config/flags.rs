//! The settings as command line flags.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::{SETTINGS, Setting};

/// The settings given by flags, not checked yet, and the configuration file.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The file given by `--config`.
    pub file: Option<PathBuf>,
    /// Keys and texts.
    pub values: Vec<(&'static str, String)>,
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("A TOML file with settings [env: SOCIALGRAPH_CONFIG]");
        command.arg(file).args(SETTINGS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(setting: &Setting) -> Arg {
    let mut blank = super::Config::blank();
    let kind = (setting.field)(&mut blank).kind();
    let default = if setting.default.is_empty() { String::new() } else { format!(" [default: {}]", setting.default) };
    // A list may be given by one flag or by several.
    let action = if kind.ends_with('…') { ArgAction::Append } else { ArgAction::Set };
    Arg::new(setting.key)
        .long(setting.flag())
        .value_name(kind)
        .action(action)
        .hide_short_help(!setting.section().is_empty() && setting.section() != "redis")
        .help(format!("{}{default} [env: {}]", setting.doc, setting.env()))
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.file = matches.get_one::<PathBuf>("config").cloned();
        self.values = SETTINGS
            .iter()
            .filter_map(|setting| {
                let texts: Vec<&str> = matches.get_many::<String>(setting.key)?.map(String::as_str).collect();
                Some((setting.key, texts.join(",")))
            })
            .collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_from_the_table() {
        let command = Flags::augment_args(Command::new("test"));
        command.clone().debug_assert();
        let line = ["test", "--redis-urls", "a:1", "--redis-urls", "b:2", "--config", "x.toml", "--listen=[::]:1"];
        let flags = Flags::from_arg_matches(&command.get_matches_from(line)).unwrap();
        assert_eq!(flags.file, Some(PathBuf::from("x.toml")));
        assert_eq!(flags.values, [("listen", "[::]:1".to_owned()), ("redis.urls", "a:1,b:2".to_owned())]);
    }
}
