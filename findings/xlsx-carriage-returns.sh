#!/usr/bin/env bash
# Three readers of .xlsx on the same inline texts: `_x000D_`, which the standard (ST_Xstring) and Excel write for a carriage return, stays
# these seven letters in exceljs 4.4.0 and read-excel-file 5.8.8, and is one in SheetJS 0.18.5; `&#13;` is one in all three; a plain CR
# before LF is gone in two. read-excel-file also trims spaces that xml:space="preserve" keeps. The guess would be the standard's escape.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y > package.log
npm install --no-audit --no-fund --silent exceljs@4.4.0 xlsx@0.18.5 read-excel-file@5.8.8
main='xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
office='http://schemas.openxmlformats.org/officeDocument/2006/relationships'
package='http://schemas.openxmlformats.org/package/2006'
cell() { printf '<c r="%s1" t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>' "$1" "$2"; }
mkdir -p book/_rels book/xl/_rels book/xl/worksheets
xml() { printf '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n%s' "$2" > "book/$1"; }
type='application/vnd.openxmlformats-officedocument.spreadsheetml'
xml '[Content_Types].xml' "<Types xmlns=\"$package/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/><Override PartName=\"/xl/workbook.xml\" ContentType=\"$type.sheet.main+xml\"/><Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"$type.worksheet+xml\"/></Types>"
xml _rels/.rels "<Relationships xmlns=\"$package/relationships\"><Relationship Id=\"rId1\" Type=\"$office/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
xml xl/workbook.xml "<workbook $main xmlns:r=\"$office\"><sheets><sheet name=\"s\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
xml xl/_rels/workbook.xml.rels "<Relationships xmlns=\"$package/relationships\"><Relationship Id=\"rId1\" Type=\"$office/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
texts="$(cell A 'a_x000D_&#10;b')$(cell B 'a&#13;&#10;b')$(cell C $'a\r\nb')$(cell D '  two  ')"
xml xl/worksheets/sheet1.xml "<worksheet $main><sheetData><row r=\"1\">$texts</row></sheetData></worksheet>"
(cd book && zip -qr -X ../t.xlsx .)

cat > try.cjs << 'JS'
const ExcelJs = require("exceljs");
const SheetJs = require("xlsx");
const rows = require("read-excel-file/node");
(async () => {
  const book = new ExcelJs.Workbook();
  await book.xlsx.readFile("t.xlsx");
  const seen = {
    exceljs: book.worksheets[0].getRow(1).values.slice(1),
    sheetjs: SheetJs.utils.sheet_to_json(SheetJs.readFile("t.xlsx").Sheets.s, { header: 1 })[0],
    "read-excel-file": (await (rows.default ?? rows)("t.xlsx"))[0],
  };
  console.log(JSON.stringify(seen));
  const expected = {
    exceljs: ["a_x000D_\nb", "a\r\nb", "a\nb", "  two  "],
    sheetjs: ["a\r\nb", "a\r\nb", "a\r\nb", "  two  "],
    "read-excel-file": ["a_x000D_\nb", "a\r\nb", "a\nb", "two"],
  };
  process.exitCode = JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1;
})();
JS
node try.cjs
