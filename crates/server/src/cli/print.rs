//! Prints answers, by what their descriptors say: a message's rows as a table or an array, its other fields as lines.
//!
//! Descriptors rather than a format for each answer, so that a field added to the contract is printed as well.

use std::{io::Write, sync::LazyLock};

use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, SerializeOptions, Value, prost::Message,
};

use super::{Error, cells::columns};

static POOL: LazyLock<Option<DescriptorPool>> =
    LazyLock::new(|| DescriptorPool::decode(socialgraph::FILE_DESCRIPTOR_SET).ok());

const JSON: SerializeOptions = SerializeOptions::new().skip_default_fields(false);

/// Most characters of a value in a table. Of longer ones it has the beginning.
const WIDEST: usize = 80;

/// Where a command's answer goes, and in which form.
pub(super) struct Printer<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) json: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send), json: bool) -> Self {
        Self { out, json }
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }

    /// Prints a message as one line of JSON.
    pub(super) fn json_line(&mut self, name: &str, message: &impl Message) -> Result<(), Error> {
        let message = dynamic(descriptor(name)?, message)?;
        self.out.write_all(&json_bytes(&message)?)?;
        Ok(writeln!(self.out)?)
    }

    /// Prints a message of the contract, `name` being its full name.
    pub(super) fn message(&mut self, name: &str, message: &impl Message) -> Result<(), Error> {
        let mut listing = self.listing(name)?;
        let message = listing.page(message)?;
        listing.finish(&message)
    }

    /// Starts to print messages of that name as one: the rows of all of them, and the other fields of the last.
    pub(super) fn listing(&mut self, name: &str) -> Result<Listing<'_, 'a>, Error> {
        let descriptor = descriptor(name)?;
        let rows = descriptor.fields().find(|field| field.is_list() && matches!(field.kind(), Kind::Message(_)));
        Ok(Listing { printer: self, descriptor, rows, widths: Vec::new(), started: false, printed: 0 })
    }
}

/// Messages that are printed as one.
pub(super) struct Listing<'p, 'a> {
    printer: &'p mut Printer<'a>,
    descriptor: MessageDescriptor,
    /// The field of the rows, if the message has one.
    rows: Option<FieldDescriptor>,
    /// Of the columns. They only grow, so that pages align with those before where they can.
    widths: Vec<usize>,
    started: bool,
    printed: usize,
}

impl Listing<'_, '_> {
    /// Prints the rows of a message and gives the message back for [`Listing::finish`].
    pub(super) fn page(&mut self, message: &impl Message) -> Result<DynamicMessage, Error> {
        let mut dynamic = dynamic(self.descriptor.clone(), message)?;
        if let Some(field) = self.rows.clone() {
            let rows = dynamic.get_field(&field).into_owned();
            let rows: Vec<_> = rows.as_list().unwrap_or_default().iter().filter_map(Value::as_message).collect();
            if self.printer.json {
                self.json_rows(&field, &rows)?
            } else {
                self.table_rows(&field, &rows)?
            }
            dynamic.clear_field(&field);
        }
        Ok(dynamic)
    }

    /// Prints the other fields.
    pub(super) fn finish(self, message: &DynamicMessage) -> Result<(), Error> {
        if self.printer.json { self.finish_json(message) } else { self.finish_lines(message) }
    }

    fn json_rows(&mut self, field: &FieldDescriptor, rows: &[&DynamicMessage]) -> Result<(), Error> {
        let out = &mut self.printer.out;
        if !std::mem::replace(&mut self.started, true) {
            write!(out, "{{\"{}\":[", field.json_name())?;
        }
        for row in rows {
            out.write_all(if self.printed == 0 { b"\n" } else { b",\n" })?;
            out.write_all(&json_bytes(row)?)?;
            self.printed += 1;
        }
        Ok(())
    }

    fn finish_json(self, message: &DynamicMessage) -> Result<(), Error> {
        let out = &mut self.printer.out;
        let json: serde_json::Map<_, _> =
            serde_json::from_slice(&json_bytes(message)?).map_err(std::io::Error::from)?;
        let rows = self.rows.as_ref().map(FieldDescriptor::json_name);
        let mut first = rows.is_none();
        out.write_all(if first { b"{" } else { b"]" })?;
        for (name, value) in json.iter().filter(|(name, _)| Some(name.as_str()) != rows) {
            write!(out, "{}\"{name}\":{value}", if first { "" } else { "," })?;
            first = false;
        }
        Ok(writeln!(out, "}}")?)
    }

    fn table_rows(&mut self, field: &FieldDescriptor, rows: &[&DynamicMessage]) -> Result<(), Error> {
        let Kind::Message(descriptor) = field.kind() else { return Ok(()) };
        let mut columns = columns(&descriptor);
        columns.retain(|column| rows.iter().any(|row| !column.is_absent(row)));
        let header = columns.iter().map(|column| column.name().to_owned()).collect();
        let mut lines: Vec<Vec<String>> = if self.printed == 0 { vec![header] } else { Vec::new() };
        lines.extend(rows.iter().map(|row| columns.iter().map(|column| beginning(column.cell(row))).collect()));
        if rows.is_empty() {
            return Ok(());
        }
        self.widths.resize(columns.len(), 0);
        for (width, cell) in lines.iter().flat_map(|line| std::iter::zip(0.., line)) {
            self.widths[width] = self.widths[width].max(cell.chars().count());
        }
        for line in &lines {
            let cells = line.iter().zip(&columns).zip(&self.widths).map(|((cell, column), &width)| {
                if column.is_number() { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            writeln!(self.printer.out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        self.printed += rows.len();
        Ok(())
    }

    fn finish_lines(self, message: &DynamicMessage) -> Result<(), Error> {
        let mut fields = columns(&self.descriptor);
        fields.retain(|field| !self.rows.as_ref().is_some_and(|rows| field.is(rows)) && !field.says_nothing(message));
        let width = fields.iter().map(|field| field.name().len()).max().unwrap_or_default();
        if self.rows.is_some() && self.printed == 0 && fields.is_empty() {
            writeln!(self.printer.out, "none")?;
        }
        for field in fields {
            writeln!(self.printer.out, "{:width$}  {}", field.name(), field.cell(message))?;
        }
        Ok(())
    }
}

fn descriptor(name: &str) -> Result<MessageDescriptor, Error> {
    let descriptor = POOL.as_ref().and_then(|pool| pool.get_message_by_name(name));
    descriptor.ok_or(Error::Internal("an answer has no descriptor"))
}

fn dynamic(descriptor: MessageDescriptor, message: &impl Message) -> Result<DynamicMessage, Error> {
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic.transcode_from(message).map_err(|_| Error::Internal("an answer is not of its descriptor"))?;
    Ok(dynamic)
}

fn beginning(text: String) -> String {
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn json_bytes(message: &DynamicMessage) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut bytes);
    message.serialize_with_options(&mut serializer, &JSON).map_err(std::io::Error::from)?;
    Ok(bytes)
}
