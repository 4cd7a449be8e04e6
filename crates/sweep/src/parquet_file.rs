//! Tables in Parquet files, with facts about the sweep in the file's key-value metadata.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::table::{Column, Kind, Table, Values};

/// Facts about a file, by name.
pub(crate) type Facts = Vec<(String, String)>;

/// Writes a table with facts about it. Every column may have missing values.
///
/// # Errors
/// The file cannot be written.
pub fn write_parquet(
    path: &Path,
    table: &Table,
    facts: &[(String, String)],
) -> Result<(), ParquetError> {
    let fields: Vec<TypePtr> = table.columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let facts = facts.iter().map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(facts.collect()))
        .set_created_by(format!("paceline {}", env!("CARGO_PKG_VERSION")))
        .build();
    let file = File::create(path)?;
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut columns = table.columns.iter();
    while let Some(mut into) = group.next_column()? {
        if let Some(column) = columns.next() {
            write_column(&mut into, &column.values)?;
        }
        into.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Whole(_) => (PhysicalType::INT64, None),
        Values::Number(_) => (PhysicalType::DOUBLE, None),
        Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.build()?))
}

fn write_column(
    into: &mut SerializedColumnWriter<'_>,
    values: &Values,
) -> Result<(), ParquetError> {
    /// Definition levels of an optional column: 1 for a value, 0 for a missing one.
    fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
        values.iter().map(|value| i16::from(value.is_some())).collect()
    }
    match values {
        Values::Whole(values) => {
            let known: Vec<i64> = values.iter().flatten().copied().collect();
            into.typed::<Int64Type>().write_batch(&known, Some(&levels(values)), None)?;
        }
        Values::Number(values) => {
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            into.typed::<DoubleType>().write_batch(&known, Some(&levels(values)), None)?;
        }
        Values::Text(values) => {
            let known: Vec<ByteArray> =
                values.iter().flatten().map(|value| ByteArray::from(value.as_str())).collect();
            into.typed::<ByteArrayType>().write_batch(&known, Some(&levels(values)), None)?;
        }
    }
    Ok(())
}

/// Reads the facts about a table, which may be of another program, from the end of its file.
///
/// # Errors
/// The file cannot be read, or is no Parquet file.
pub(crate) fn read_facts(path: &Path) -> Result<Facts, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    Ok(facts(reader.metadata().file_metadata()))
}

fn facts(about: &FileMetaData) -> Facts {
    let facts = about.key_value_metadata().into_iter().flatten();
    facts.map(|fact| (fact.key.clone(), fact.value.clone().unwrap_or_default())).collect()
}

/// Reads a table that [`write_parquet`] has written, and the facts about it.
///
/// # Errors
/// The file cannot be read, or has columns of other types.
pub fn read_parquet(path: &Path) -> Result<(Table, Vec<(String, String)>), ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let about = reader.metadata().file_metadata();
    let facts = facts(about);
    let mut table = Table::default();
    for column in about.schema_descr().columns() {
        let kind = match column.physical_type() {
            PhysicalType::INT64 => Kind::Whole,
            PhysicalType::DOUBLE => Kind::Number,
            PhysicalType::BYTE_ARRAY => Kind::Text,
            other => {
                let problem = format!("column `{}` has the type {other}", column.name());
                return Err(ParquetError::General(problem));
            }
        };
        if column.max_def_level() != 1 || column.max_rep_level() != 0 {
            let problem = format!("column `{}` is nested or has no missing values", column.name());
            return Err(ParquetError::General(problem));
        }
        table.columns.push(Column { name: column.name().to_string(), values: Values::none(kind) });
    }
    for at in 0..reader.num_row_groups() {
        let group = reader.get_row_group(at)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        for (at, column) in table.columns.iter_mut().enumerate() {
            let values = read_column(group.get_column_reader(at)?, rows)?;
            if !column.values.append(values) {
                return Err(ParquetError::General(format!("column `{}`", column.name)));
            }
        }
    }
    Ok((table, facts))
}

fn read_column(column: ColumnReader, rows: usize) -> Result<Values, ParquetError> {
    /// Puts missing values where a definition level is 0.
    fn spread<T>(levels: &[i16], known: Vec<T>) -> Vec<Option<T>> {
        let mut known = known.into_iter();
        levels.iter().map(|level| if *level == 1 { known.next() } else { None }).collect()
    }
    macro_rules! read {
        ($reader:expr) => {{
            let (mut reader, mut levels, mut known) = ($reader, Vec::new(), Vec::new());
            while levels.len() < rows {
                let before = levels.len();
                reader.read_records(rows - before, Some(&mut levels), None, &mut known)?;
                if levels.len() == before {
                    return Err(ParquetError::EOF("a column has too few values".into()));
                }
            }
            spread(&levels, known)
        }};
    }
    Ok(match column {
        ColumnReader::Int64ColumnReader(reader) => Values::Whole(read!(reader)),
        ColumnReader::DoubleColumnReader(reader) => Values::Number(read!(reader)),
        ColumnReader::ByteArrayColumnReader(reader) => {
            let texts = read!(reader).into_iter().map(|text: Option<ByteArray>| {
                text.map(|text| String::from_utf8_lossy(text.data()).into_owned())
            });
            Values::Text(texts.collect())
        }
        _ => return Err(ParquetError::General("a column of another type".into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_as_they_were_written() {
        let folder = std::env::temp_dir().join(format!("paceline-parquet-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("t.parquet");
        let table = Table {
            columns: vec![
                Column {
                    name: "link.*.rate".into(),
                    values: Values::Text(vec![Some("6Mbps".into()), None, Some("6Mbps".into())]),
                },
                Column {
                    name: "n".into(),
                    values: Values::Whole(vec![Some(-1), Some(i64::MAX), None]),
                },
                Column {
                    name: "x".into(),
                    values: Values::Number(vec![None, Some(0.1), Some(-0.0)]),
                },
                Column { name: "none".into(), values: Values::Number(vec![None; 3]) },
            ],
        };
        let facts = vec![("a".to_string(), "b".to_string())];
        write_parquet(&path, &table, &facts).expect("written");
        assert_eq!(read_parquet(&path).expect("read"), (table, facts));
        std::fs::write(&path, b"PAR1 is no table").expect("written");
        assert!(read_parquet(&path).is_err());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
